# SPDX-License-Identifier: Apache-2.0
"""Writing tokens into the caches, and reading them back through the other operators."""

from __future__ import annotations

import numpy as np
import pytest

from cases import LAYOUTS
from sals.reference import layouts, write_cache
from sals.reference.int4 import unpack_int4
from sals.reference.projection import project
from sals.reference.quantize import channel_scale

PAGES, PAGE_SIZE, N_KV, HEAD_DIM, RANK = 4, 16, 2, 64, 64


class Caches:
    """Empty caches of one layout, filled with a marker."""

    def __init__(self, layout: str, static_scales: bool, samples, head_dim: int = HEAD_DIM):
        size = (PAGES, PAGE_SIZE, N_KV)
        self.layout, self.static_scales = layout, static_scales
        index_layout = layouts.index_layout(layout)
        kv_shape = layouts.cache_shape(layout, *size, head_dim, np.int8)
        self.key = np.full(kv_shape, 99, np.int8)
        self.value = None if layout == "PA_KV" else np.full(kv_shape, 99, np.int8)
        self.index = np.full(layouts.cache_shape(index_layout, *size, RANK // 8, np.int32), 99, np.int32)
        self.index_scale = np.full(layouts.scale_shape(index_layout, *size), 99, np.float32)
        if static_scales:
            self.key_scale, self.value_scale = (channel_scale(sample) for sample in samples)
        else:
            self.key_scale, self.value_scale = (
                np.full(layouts.scale_shape(layout, *size), 99, np.float32) for _ in range(2)
            )

    def write(self, key, value, index_key, projection, slots):
        write_cache(
            key, value, index_key, projection, np.asarray(slots, np.int32), self.key, self.value, self.index,
            self.index_scale, self.key_scale, self.value_scale, layout=self.layout,
            static_scales=self.static_scales,
        )  # fmt: skip

    def read(self, slot: int, head: int):
        """Dequantised key and value, and the latent of the index, of one slot."""
        table = np.arange(PAGES)[:, None]
        place = (table, slot // PAGE_SIZE, head, np.array([slot % PAGE_SIZE]))
        value_cache = self.key if self.value is None else self.value
        rows = [
            layouts.gather_tokens(cache, self.layout, *place, component)[0].astype(float)
            for cache, component in ((self.key, layouts.KEY), (value_cache, layouts.VALUE))
        ]
        scales = [
            scale[head] if self.static_scales else layouts.gather_scales(scale, self.layout, *place)
            for scale in (self.key_scale, self.value_scale)
        ]
        index_layout = layouts.index_layout(self.layout)
        codes = unpack_int4(layouts.gather_tokens(self.index, index_layout, *place))[0]
        latent = codes * layouts.gather_scales(self.index_scale, index_layout, *place)
        return rows[0] * scales[0], rows[1] * scales[1], latent


def tokens(count: int, seed: int):
    rng = np.random.default_rng(seed)
    key, value, index_key = rng.standard_normal((3, count, N_KV, HEAD_DIM)).astype(np.float32)
    projection = rng.standard_normal((N_KV, HEAD_DIM, RANK)).astype(np.float32)
    return key, value, index_key, projection


@pytest.mark.parametrize("static_scales", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_written_is_read_back(layout, static_scales):
    key, value, index_key, projection = tokens(5, seed=14)
    slots = [17, -1, 0, 63, 16]
    caches = Caches(layout, static_scales, (key, value))
    caches.write(key, value, index_key, projection, slots)
    latents = project(index_key, projection)
    for token in (0, 2, 3, 4):
        for head in range(N_KV):
            read = caches.read(slots[token], head)
            for got, expected, steps in zip(
                read, (key[token, head], value[token, head], latents[token, head]), (127, 127, 7), strict=True
            ):
                # Half a step of the largest scale in use: static scales cover the largest token.
                largest = np.abs(key).max() if steps == 127 and static_scales else np.abs(expected).max()
                largest = max(largest, np.abs(value).max() if steps == 127 and static_scales else 0)
                np.testing.assert_allclose(got, expected, rtol=0, atol=0.50001 * largest / steps)
    written = 4 * N_KV
    assert np.count_nonzero(caches.index_scale != 99) == written
    if not static_scales:
        assert np.count_nonzero(caches.key_scale != 99) == written
        assert np.count_nonzero(caches.value_scale != 99) == written


def test_static_scales_are_only_read():
    key, value, index_key, projection = tokens(3, seed=15)
    caches = Caches("PA_BNSD", True, (key, value))
    before = caches.key_scale.copy(), caches.value_scale.copy()
    caches.write(10 * key, value, index_key, projection, [1, 2, 3])
    np.testing.assert_array_equal(caches.key_scale, before[0])
    np.testing.assert_array_equal(caches.value_scale, before[1])
    assert caches.key[0, :, 1:4].min() == -128 and caches.key[0, :, 1:4].max() == 127


def test_the_later_token_wins_a_shared_slot():
    key, value, index_key, projection = tokens(3, seed=16)
    both, last = (Caches("PA_NZ", False, None) for _ in range(2))
    both.write(key, value, index_key, projection, [5, 9, 5])
    last.write(key[1:], value[1:], index_key[1:], projection, [9, 5])
    for name in ("key", "value", "index", "index_scale", "key_scale", "value_scale"):
        np.testing.assert_array_equal(getattr(both, name), getattr(last, name))


def test_a_joint_index_has_one_head():
    key, value, index_key, _ = tokens(2, seed=17)
    projection = np.random.default_rng(18).standard_normal((1, N_KV * HEAD_DIM, RANK)).astype(np.float32)
    caches = Caches("PA_BSND", False, None)
    caches.index = np.zeros((PAGES, PAGE_SIZE, 1, RANK // 8), np.int32)
    caches.index_scale = np.zeros((PAGES, PAGE_SIZE, 1), np.float32)
    caches.write(key, value, index_key, projection, [3, 20])
    latent = index_key.reshape(2, -1).astype(float) @ projection[0]
    got = unpack_int4(caches.index[0, 3, 0]) * caches.index_scale[0, 3, 0]
    np.testing.assert_allclose(got, latent[0], atol=0.50001 * np.abs(latent[0]).max() / 7)


def test_rows_longer_than_head_dim_are_padded_with_zeros():
    key, value, index_key, projection = tokens(1, seed=19)
    caches = Caches("PA_KV", False, None, head_dim=128)
    caches.write(key, value, index_key, projection, [0])
    assert not caches.key[0, :, :, 2:, 0].any() and caches.key[0, :, :, :2, 0].any()


def test_no_tokens_write_nothing():
    key, value, index_key, projection = tokens(2, seed=20)
    caches = Caches("PA_BNSD", False, None)
    caches.write(key, value, index_key, projection, [-1, -1])
    assert (caches.key == 99).all() and (caches.index == 99).all() and (caches.key_scale == 99).all()
