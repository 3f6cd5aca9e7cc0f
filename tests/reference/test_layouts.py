# SPDX-License-Identifier: Apache-2.0
"""Cache addressing: every layout holds the same rows, at the addresses its formula gives."""

from __future__ import annotations

import numpy as np
import pytest

from cases import LAYOUTS
from sals.reference import layouts

PAGES, PAGE_SIZE, HEADS, HEAD_DIM = 5, 32, 3, 64


def byte_address(layout: str, page: int, offset: int, head: int, x: int, value: bool) -> int:
    """Address of byte x of a 64-byte row, written out once more as flat arithmetic."""
    match layout:
        case "PA_BNSD":
            return ((page * HEADS + head) * PAGE_SIZE + offset) * HEAD_DIM + x
        case "PA_BSND" | "BSND":
            return ((page * PAGE_SIZE + offset) * HEADS + head) * HEAD_DIM + x
        case "PA_NZ":
            return (((page * HEADS + head) * 2 + x // 32) * PAGE_SIZE + offset) * 32 + x % 32
        case "PA_KV":
            part = (page * HEADS + head) * 2 + value
            return ((part * 2 + x // 32) * PAGE_SIZE + offset) * 32 + x % 32


@pytest.mark.parametrize("component", [layouts.KEY, layouts.VALUE])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_int8_addresses(layout, component):
    shape = layouts.cache_shape(layout, PAGES, PAGE_SIZE, HEADS, HEAD_DIM, np.int8)
    cache = np.arange(np.prod(shape), dtype=np.int64).astype(np.int8).reshape(shape)
    table = np.array([[3, 1], [0, 4]])
    positions = np.array([33, 0, 31, 31]) if layout != "BSND" else np.array([20, 0, 31, 31])
    rows = layouts.gather_tokens(cache, layout, table, 1, 2, positions, component)
    for row, position in zip(rows, positions.tolist(), strict=True):
        page, offset = (1, position) if layout == "BSND" else (table[1, position // 32], position % 32)
        addresses = [byte_address(layout, page, offset, 2, x, component) for x in range(HEAD_DIM)]
        assert row.tolist() == cache.reshape(-1)[addresses].tolist()


def test_plane_sizes():
    assert layouts.plane_elements(np.int8) == 32
    assert layouts.plane_elements(np.int32) == 8
    assert layouts.cache_shape("PA_NZ", 4, 16, 2, 16, np.int32) == (4, 2, 2, 16, 8)
    assert layouts.cache_shape("PA_KV", 4, 16, 2, 128, np.int8) == (4, 2, 2, 4, 16, 32)
    with pytest.raises(ValueError, match="whole planes of 32 elements, got 80"):
        layouts.cache_shape("PA_NZ", 4, 16, 2, 80, np.int8)
    with pytest.raises(ValueError, match="layout must be one of"):
        layouts.cache_shape("NHWC", 4, 16, 2, 64, np.int8)


def test_rank_64_rows_are_the_same_bytes_in_nz_and_bnsd():
    rng = np.random.default_rng(6)
    dense = rng.integers(-(2**31), 2**31, (1, 64, HEADS, 8)).astype(np.int32)
    table = np.array([[2, 0]])
    flat = []
    for layout in ("PA_BNSD", "PA_NZ"):
        cache = np.zeros(layouts.cache_shape(layout, PAGES, PAGE_SIZE, HEADS, 8, np.int32), np.int32)
        layouts.fill_cache(cache, layout, table, dense, np.array([64]))
        flat.append(cache.reshape(-1))
    np.testing.assert_array_equal(*flat)


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_fill_and_gather_are_inverse(layout, dtype):
    rng = np.random.default_rng(7)
    columns = 2 * layouts.plane_elements(dtype)
    lengths = np.array([32, 0, 29, -1])
    dense = rng.integers(-127, 128, (4, PAGE_SIZE, HEADS, columns)).astype(dtype)
    table = np.array([[4], [0], [2], [0]])
    cache = np.full(layouts.cache_shape(layout, PAGES, PAGE_SIZE, HEADS, columns, dtype), 99, dtype)
    layouts.fill_cache(cache, layout, table, dense, lengths, layouts.VALUE)
    assert layouts.columns_of(cache, layout) == columns
    assert layouts.heads_of(cache, layout) == HEADS
    for request in (0, 2):
        positions = np.arange(lengths[request])
        for head in range(HEADS):
            rows = layouts.gather_tokens(cache, layout, table, request, head, positions, layouts.VALUE)
            np.testing.assert_array_equal(rows, dense[request, positions, head])
    written = (32 + 29) * HEADS * columns
    assert np.count_nonzero(cache != 99) <= written


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scales_follow_the_tokens(layout):
    shape = layouts.scale_shape(layout, PAGES, PAGE_SIZE, HEADS)
    token_major = layout in ("PA_BSND", "BSND")
    assert shape == ((PAGES, PAGE_SIZE, HEADS) if token_major else (PAGES, HEADS, PAGE_SIZE))
    dense = np.random.default_rng(8).random((2, 20, HEADS)).astype(np.float32)
    table = np.array([[4], [2]])
    scales = np.zeros(shape, np.float32)
    layouts.fill_scales(scales, layout, table, dense, np.array([20, 7]))
    read = layouts.gather_scales(scales, layout, table, 1, 2, np.array([6, 0]))
    np.testing.assert_array_equal(read, dense[1, [6, 0], 2])
