# SPDX-License-Identifier: Apache-2.0
"""Cache addresses against NumPy's own indexing of arrays whose elements are numbered, and int4 packing."""

from __future__ import annotations

import numpy as np
import pytest

from sals import _core
from sals._contract import HEAD_DIMS, INT4_MAX, INT4_MIN, INT4_PER_WORD, KV_LAYOUTS, PLANE_BYTES

pytestmark = pytest.mark.sanitize

PAGES, HEADS, PAGE_SIZE = 3, 2, 16


def rows_of_numbered_cache(layout: str, row_bytes: int, is_value: bool) -> np.ndarray:
    """Byte numbers as [page, head, token, byte of the row], from the shape that the layout is defined by."""
    planes = row_bytes // PLANE_BYTES

    def numbered(*shape: int) -> np.ndarray:
        return np.arange(np.prod(shape)).reshape(shape)

    if layout == "PA_BNSD":
        return numbered(PAGES, HEADS, PAGE_SIZE, row_bytes)
    if layout in ("PA_BSND", "BSND"):
        return numbered(PAGES, PAGE_SIZE, HEADS, row_bytes).transpose(0, 2, 1, 3)
    if layout == "PA_NZ":
        cache = numbered(PAGES, HEADS, planes, PAGE_SIZE, PLANE_BYTES)
    else:
        cache = numbered(PAGES, HEADS, 2, planes, PAGE_SIZE, PLANE_BYTES)[:, :, int(is_value)]
    return cache.transpose(0, 1, 3, 2, 4).reshape(PAGES, HEADS, PAGE_SIZE, row_bytes)


def addresses(layout: str, row_bytes: int, is_value: bool) -> np.ndarray:
    shape = _core.CacheShape(layout, num_pages=PAGES, heads=HEADS, page_size=PAGE_SIZE, row_bytes=row_bytes)
    page, head, offset, x = np.ogrid[:PAGES, :HEADS, :PAGE_SIZE, :row_bytes]
    return _core.row_byte(shape, page, head, is_value, offset, x)


@pytest.mark.parametrize("is_value", [False, True])
@pytest.mark.parametrize("row_bytes", [32, 64, 128, 256])
@pytest.mark.parametrize("layout", KV_LAYOUTS)
def test_row_byte(layout: str, row_bytes: int, is_value: bool) -> None:
    expected = rows_of_numbered_cache(layout, row_bytes, is_value)
    assert np.array_equal(addresses(layout, row_bytes, is_value), expected)


@pytest.mark.parametrize("row_bytes", [4, 48, 80, 96])
@pytest.mark.parametrize("layout", ["BSND", "PA_BSND", "PA_BNSD"])
def test_rows_that_are_no_whole_planes(layout: str, row_bytes: int) -> None:
    expected = rows_of_numbered_cache(layout, row_bytes, is_value=False)
    assert np.array_equal(addresses(layout, row_bytes, is_value=False), expected)


@pytest.mark.parametrize("layout", KV_LAYOUTS)
def test_every_byte_of_the_cache_has_one_address(layout: str) -> None:
    sides = (False, True) if layout == "PA_KV" else (False,)
    found = np.concatenate([addresses(layout, 64, side).ravel() for side in sides])
    assert np.array_equal(np.sort(found), np.arange(PAGES * HEADS * PAGE_SIZE * 64 * len(sides)))


@pytest.mark.parametrize("layout", KV_LAYOUTS)
def test_scale_offset(layout: str) -> None:
    shape = _core.CacheShape(layout, num_pages=PAGES, heads=HEADS, page_size=PAGE_SIZE, row_bytes=64)
    page, head, offset = np.ogrid[:PAGES, :HEADS, :PAGE_SIZE]
    numbers = np.arange(PAGES * HEADS * PAGE_SIZE)
    if layout in ("BSND", "PA_BSND"):
        expected = numbers.reshape(PAGES, PAGE_SIZE, HEADS).transpose(0, 2, 1)
    else:
        expected = numbers.reshape(PAGES, HEADS, PAGE_SIZE)
    assert np.array_equal(_core.scale_offset(shape, page, head, offset), expected)


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(
        ValueError, match="layout must be one of BSND, PA_BSND, PA_BNSD, PA_NZ, PA_KV, got NZ"
    ):
        _core.CacheShape("NZ", num_pages=1, heads=1, page_size=1, row_bytes=64)


def test_padded_head_dim() -> None:
    assert _core.padded_head_dim(np.array(HEAD_DIMS)).tolist() == [64, 128, 128, 128, 256, 256]


def test_int4_of_every_byte_pattern() -> None:
    """Element i is the i-th nibble from the low end, in two's complement."""
    words = np.array([0x76543210, 0xFEDCBA98, 0x00000000, 0xFFFFFFFF, 0x80000007], np.uint32)
    nibbles = (words[:, None] >> (4 * np.arange(INT4_PER_WORD, dtype=np.uint32))) & 15
    expected = np.where(nibbles < 8, nibbles, nibbles.astype(np.int64) - 16)
    got = _core.int4_get(words.view(np.int32)[:, None], np.arange(INT4_PER_WORD))
    assert np.array_equal(got, expected)


def test_int4_round_trip() -> None:
    seed = 20
    print("seed", seed)
    codes = np.random.default_rng(seed).integers(INT4_MIN, INT4_MAX + 1, (1000, INT4_PER_WORD))
    words = np.random.default_rng(seed + 1).integers(-(2**31), 2**31, 1000).astype(np.int32)  # overwritten
    for i in range(INT4_PER_WORD):
        words = _core.int4_set(words, i, codes[:, i]).astype(np.int32)
    assert np.array_equal(_core.int4_get(words[:, None], np.arange(INT4_PER_WORD)), codes)


def test_int4_set_leaves_the_other_elements() -> None:
    for i in range(INT4_PER_WORD):
        for value in range(INT4_MIN, INT4_MAX + 1):
            word = _core.int4_set(np.int32(0x12345678), i, value)
            expected = [8, 7, 6, 5, 4, 3, 2, 1]
            expected[0] = -8
            expected[i] = value
            assert _core.int4_get(word, np.arange(INT4_PER_WORD)).tolist() == expected
