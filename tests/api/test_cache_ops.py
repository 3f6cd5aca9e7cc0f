# SPDX-License-Identifier: Apache-2.0
"""project_query and write_cache on CPU against the reference.

Keys and values become int8 by one float32 division and one rounding, so they must agree bit for bit. The
latent of the index is a float32 sum whose order nobody fixes. Where every sum is exact (small integers), its
codes and scales must agree bit for bit too; elsewhere a code must be a nearest one within the error that such
a sum can have.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import calls
import operators
from cache_calls import WRITTEN, assert_caches_equal, exact_index, group_means, reference_caches, written
from cases import LAYOUTS
from operators import ops
from sals._contract import HEAD_DIMS
from sals.reference import layouts, project_query
from sals.reference.int4 import unpack_int4
from tolerance import assert_nearest_codes

# ---- project_query ---------------------------------------------------------------------------------------


@pytest.mark.sanitize
@pytest.mark.parametrize("dtype", list(operators.FLOATS))
@pytest.mark.parametrize("rank", [8, 16, 64, 128, 256])
@pytest.mark.parametrize("n_idx", [2, 1], ids=["per-head", "joint"])
@pytest.mark.parametrize("head_dim", HEAD_DIMS)
def test_projected_query(head_dim, n_idx, rank, dtype):
    call = calls.project_query(dtype, n_idx, head_dim, rank)
    packed, scale = ops.project_query(**call)
    assert packed.shape == (2, 1, n_idx, rank // 8) and packed.dtype == torch.int32
    assert scale.shape == (2, 1, n_idx) and scale.dtype == torch.float32
    inputs = group_means(call["query"], n_kv=2, n_idx=n_idx)
    assert_nearest_codes(packed.numpy(), scale.numpy(), inputs, call["projection"].numpy(), call["scale"])


@pytest.mark.parametrize("group", [1, 2, 4, 16])
@pytest.mark.parametrize("n_idx", [3, 1])
def test_projected_query_is_exact_where_sums_are(n_idx, group):
    rng = np.random.default_rng(80)
    query = rng.integers(-8, 9, (5, 3 * group, 64)).astype(np.float32)
    projection = rng.integers(-4, 5, (n_idx, 192 // n_idx, 24)).astype(np.float32) / 8
    expected = project_query(query, projection, n_idx=n_idx, scale=0.3)
    got = ops.project_query(torch.from_numpy(query), torch.from_numpy(projection), n_idx=n_idx, scale=0.3)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b)


def test_ragged_strided_and_empty_queries():
    call = calls.project_query()
    packed, scale = ops.project_query(**call)
    ragged = {**call, "query": call["query"][:, 0]}
    assert all(
        torch.equal(a, b[:, 0]) for a, b in zip(ops.project_query(**ragged), (packed, scale), strict=True)
    )
    strided = {**call, "query": call["query"].repeat_interleave(2, -1)[..., ::2]}
    assert all(torch.equal(a, b) for a, b in zip(ops.project_query(**strided), (packed, scale), strict=True))
    empty = ops.project_query(**{**call, "query": call["query"][:0]})
    assert empty[0].shape == (0, 1, 2, 2) and empty[1].shape == (0, 1, 2)


def test_a_query_of_zeros_has_scale_zero():
    call = calls.project_query()
    call["query"][0] = 0
    packed, scale = ops.project_query(**call)
    assert not packed[0].any() and not scale[0].any() and packed[1].any() and (scale[1] > 0).all()


def test_rounding_is_half_to_even():
    """amax 7 makes the scale 1: latents are codes, and halves go to even ones."""
    latent = torch.tensor([7, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.5])
    projection = torch.zeros(1, 64, 8)
    projection[0, 0] = latent
    query = torch.zeros(1, 1, 64)
    query[..., 0] = 1
    packed, scale = ops.project_query(query, projection, n_idx=1, scale=1.0)
    assert unpack_int4(packed.numpy())[0, 0].tolist() == [7, 0, 2, 2, 0, -2, -2, 4] and scale.item() == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_query_that_is_not_finite_shows_in_its_scale_only(bad):
    call = calls.project_query("float32")
    clean = ops.project_query(**call)
    call["query"][1, 0, 3, 7] = bad
    packed, scale = ops.project_query(**call)
    assert not torch.isfinite(scale[1, 0, 1])
    assert torch.equal(scale.flatten()[:3], clean[1].flatten()[:3])
    assert torch.equal(packed.reshape(4, -1)[:3], clean[0].reshape(4, -1)[:3])


# ---- write_cache -----------------------------------------------------------------------------------------


@pytest.mark.sanitize
@pytest.mark.parametrize("n_idx", [2, 1], ids=["per-head", "joint"])
@pytest.mark.parametrize("head_dim", HEAD_DIMS)
@pytest.mark.parametrize("static_scales", [True, False], ids=["static", "per-token"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_written_caches(layout, static_scales, head_dim, n_idx):
    call = exact_index(calls.write_cache(layout, static_scales, head_dim=head_dim, n_idx=n_idx))
    assert_caches_equal(written(call), reference_caches(call))


@pytest.mark.parametrize("dtype", list(operators.FLOATS))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_written_index_of_random_keys(layout, dtype):
    call = calls.write_cache(layout, dtype=dtype)
    got = written(call)
    assert_caches_equal(got, reference_caches(call), ("key_cache", "value_cache", "key_scale", "value_scale"))
    index_layout = layouts.index_layout(layout)
    inputs = call["index_key"].double().numpy()
    for token, slot in ((0, 5), (2, 40)):
        page, offset = np.array([slot // 16]), np.array([slot % 16])
        for head in range(2):
            place = (index_layout, page, offset, head)
            packed = got["index_cache"][layouts.element_index(*place, 8, 8)][0]
            scale = got["index_scale"][layouts.scale_index(*place)][0]
            projection = call["projection"].numpy()[head : head + 1]
            assert_nearest_codes(packed[None], np.array([scale]), inputs[token, head : head + 1], projection)


def test_the_later_of_two_tokens_with_one_slot_wins():
    call = exact_index(calls.write_cache())
    call["slot_mapping"] = torch.tensor([7, 7, 7], dtype=torch.int32)
    got = written(call)
    assert_caches_equal(got, reference_caches(call))
    call["slot_mapping"] = torch.tensor([-1, -1, 7], dtype=torch.int32)
    assert_caches_equal(got, written(call))


def test_slots_of_minus_one_and_no_tokens_write_nothing():
    call = calls.write_cache()
    before = {name: call[name].clone().numpy() for name in WRITTEN}
    call["slot_mapping"] = torch.full((3,), -1, dtype=torch.int32)
    assert_caches_equal(written(call), before)
    for name in ("key", "value", "index_key", "slot_mapping"):
        call[name] = call[name][:0]
    assert_caches_equal(written(call), before)


def test_every_slot():
    call = exact_index(calls.write_cache("PA_NZ"))
    slots = torch.randperm(64, generator=torch.Generator().manual_seed(82)).int()
    for name in ("key", "value", "index_key"):
        call[name] = call[name].repeat(22, 1, 1)[:64] * torch.linspace(0.1, 2, 64)[:, None, None]
        call[name] = call[name].bfloat16()
    call["index_key"] = call["index_key"].round()
    call["slot_mapping"] = slots
    got = written(call)
    assert_caches_equal(got, reference_caches(call))
    assert not (got["key_scale"] == 99).any() and not (got["index_scale"] == 99).any()


def test_strided_tokens():
    call = exact_index(calls.write_cache())
    expected = written(call)
    for name in ("key", "value", "index_key", "slot_mapping"):
        call[name] = call[name].repeat_interleave(2, -1)[..., ::2]
    assert_caches_equal(written(call), expected)


def test_int8_rounding_and_clamping():
    """Static scale 1: halves go to even codes, values beyond int8 clamp, scale 0 gives 0."""
    call = exact_index(calls.write_cache(static_scales=True, dtype="float32"))
    values = [0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 1e9, -127.5, -128.5, -1e9, 3.0]
    call["key"][0, 0, : len(values)] = torch.tensor(values)
    call["key_scale"][0] = 1.0
    call["key_scale"][0, len(values) - 1] = 0.0
    got = written(call)["key_cache"][0, 0, 5, : len(values)]
    assert got.tolist() == [0, 2, 2, 0, -2, 126, 127, 127, -128, -128, -128, 0]


def test_tokens_of_zeros_have_scale_zero():
    call = calls.write_cache()
    for name in ("key", "value", "index_key"):
        call[name][0] = 0
    got = written(call)
    for name in ("key_scale", "value_scale", "index_scale"):
        assert not got[name][0, :, 5].any()
    assert not got["key_cache"][0, :, 5].any() and not got["index_cache"][0, :, 5].any()


@pytest.mark.parametrize("name", ["key", "value", "index_key"])
def test_a_token_with_nan_shows_in_its_scale(name):
    call = calls.write_cache()
    call[name][0, 1, 3] = torch.nan
    got = written(call)
    scale = got[{"key": "key_scale", "value": "value_scale", "index_key": "index_scale"}[name]]
    assert np.isnan(scale[0, 1, 5]) and np.isfinite(scale[0, 0, 5])


@pytest.mark.parametrize("static_scales", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_written_tokens_are_read_back(layout, static_scales):
    """Attention to one written token returns its value, as its codes and scale have it."""
    call = calls.write_cache(layout, static_scales, dtype="float32", head_dim=128)
    ops.write_cache(**call)
    paged = layout != "BSND"
    seq_lens = torch.tensor([41] if paged else [6, 0, 9, 0], dtype=torch.int32)
    block_table = torch.tensor([[1, 3, 2]], dtype=torch.int32) if paged else None
    # Slot 40 is offset 8 of page 2: token 40 of the paged request, token 8 of the dense request 2.
    request, block = (0, 5) if paged else (2, 1)
    ids = torch.full((len(seq_lens), 1, 1, 1), -1, dtype=torch.int32)
    ids[request] = block
    caches = (call[name] for name in ("key_cache", "value_cache", "key_scale", "value_scale"))
    out, _ = ops.sfaa(
        torch.ones(len(seq_lens), 1, 2, 128), *caches, ids, torch.zeros_like(ids[..., 0]), seq_lens,
        scale=1.0, block_table=block_table, layout=layout, block_size=8,
    )  # fmt: skip
    value = call["value"][2]
    step = call["value_scale"] if static_scales else value.abs().amax(dim=-1, keepdim=True) / 127
    expected = (value / step).round().clamp(-128, 127) * step
    # One token has weight 1; per-token scales are split in two terms again.
    torch.testing.assert_close(out[request, 0], expected, rtol=1e-5, atol=0)
