# SPDX-License-Identifier: Apache-2.0
"""The NPU kernel of write_cache on the simulator.

int8 codes and all scales follow from single float32 operations: they must be those of the reference bit for
bit. Index codes come from a float32 sum that is taken in the order of the CPU operator: they must be its
bits, and those of the reference where every sum is exact.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import calls
import operators
from cache_calls import WRITTEN, assert_caches_equal, caches_of, exact_index, reference_caches, written
from cache_kernels import DEVICE_RANKS, PER_TOKEN, random_tokens, write_on_simulator
from cases import LAYOUTS
from sals._contract import HEAD_DIMS, SLOT_CHUNK, STRIP_TOKENS
from sals.simulator import run_write_cache

CORES = (48, 40, 2, 1)
SCHEDULES = 20
SLOTS = calls.PAGES * 16


def shuffled_slots(count: int) -> np.ndarray:
    """Distinct slots of the small caches, one in eight of them replaced by -1."""
    rng = np.random.default_rng(93)
    slots = rng.permutation(SLOTS)[:count]
    return np.where(rng.random(count) < 1 / 8, -1, slots)


@pytest.mark.parametrize("n_idx", [2, 1], ids=["per-head", "joint"])
@pytest.mark.parametrize("head_dim", HEAD_DIMS)
@pytest.mark.parametrize("static_scales", [True, False], ids=["static", "per-token"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_written_caches(layout, static_scales, head_dim, n_idx):
    """Everything of the caches, also what no token owns and the padding of rows."""
    call = calls.write_cache(layout, static_scales, head_dim=head_dim, n_idx=n_idx)
    call = exact_index(random_tokens(call, shuffled_slots(20)))
    assert_caches_equal(write_on_simulator(call, cores=2, seed=3), reference_caches(call))


@pytest.mark.parametrize("rank", DEVICE_RANKS)
@pytest.mark.parametrize("dtype", list(operators.FLOATS))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_index_keys(layout, dtype, rank):
    call = random_tokens(calls.write_cache(layout, dtype=dtype, rank=rank), shuffled_slots(20))
    assert_caches_equal(write_on_simulator(call, cores=3), written(call))


@pytest.mark.parametrize("head_dim", [80, 96, 192])
@pytest.mark.parametrize("layout", ["PA_BNSD", "PA_BSND", "PA_NZ", "PA_KV", "BSND"])
@pytest.mark.parametrize("static_scales", [True, False], ids=["static", "per-token"])
def test_padded_rows_end_with_zeros(layout, head_dim, static_scales):
    columns = 128 if head_dim < 128 else 256
    call = exact_index(calls.write_cache(layout, static_scales, head_dim=head_dim))
    wide = calls.write_cache(layout, static_scales, head_dim=columns)
    call |= {name: wide[name] for name in ("key_cache", "value_cache")}
    assert_caches_equal(write_on_simulator(call, cores=1), reference_caches(call))


@pytest.mark.parametrize("tokens", [1, STRIP_TOKENS - 1, STRIP_TOKENS, STRIP_TOKENS + 1, SLOTS])
def test_results_do_not_depend_on_cores_or_schedule(tokens):
    call = random_tokens(calls.write_cache(), shuffled_slots(tokens))
    expected = written(call)
    for seed, cores in enumerate(CORES):
        assert_caches_equal(write_on_simulator(call, cores=cores, seed=seed), expected)


@pytest.mark.slow
@pytest.mark.parametrize("cores", CORES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_schedule(layout, cores):
    rng = np.random.default_rng(94)
    call = random_tokens(calls.write_cache(layout), rng.integers(-1, SLOTS, 90))
    expected = written(call)
    for seed in range(SCHEDULES + 1):
        assert_caches_equal(write_on_simulator(call, cores=cores, seed=seed), expected)


@pytest.mark.parametrize("cores", CORES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_later_of_tokens_with_one_slot_wins(layout, cores):
    """Duplicates within a strip, in other strips of a core and on other cores."""
    rng = np.random.default_rng(95)
    call = exact_index(random_tokens(calls.write_cache(layout), rng.integers(0, 12, 100)))
    assert_caches_equal(write_on_simulator(call, cores=cores, seed=cores), reference_caches(call))


def test_duplicates_many_tokens_apart():
    """The later token stands in the second and third chunk of slots that a core searches."""
    slots = np.full(2 * SLOT_CHUNK + 40, -1)
    slots[[0, 1, 2, 20]] = 5, 6, 7, 8
    slots[[SLOT_CHUNK + 30, -1]] = 5, 7
    call = exact_index(random_tokens(calls.write_cache(), slots))
    assert_caches_equal(write_on_simulator(call, cores=48), reference_caches(call))


def test_slots_outside_the_cache_are_skipped():
    """A device cannot raise: what is not a slot is left out."""
    extremes = [-(2**31), -2, -1, SLOTS, SLOTS + 1, 2**31 - 1]
    call = random_tokens(calls.write_cache(), [*extremes, 3, *extremes])
    only = {**call, "slot_mapping": torch.full_like(call["slot_mapping"], -1)}
    only["slot_mapping"][len(extremes)] = 3
    assert_caches_equal(write_on_simulator(call, cores=2), written(only))


def test_slots_of_minus_one_and_no_tokens_write_nothing():
    call = calls.write_cache()
    before = caches_of(call)
    call["slot_mapping"] = torch.full((3,), -1, dtype=torch.int32)
    assert_caches_equal(write_on_simulator(call, cores=2), before)
    for name in (*PER_TOKEN, "slot_mapping"):
        call[name] = call[name][:0]
    assert_caches_equal(write_on_simulator(call, cores=2), before)


def test_int8_rounding_and_clamping():
    """Static scale 1: halves go to even codes, values beyond int8 clamp, scale 0 gives 0."""
    call = calls.write_cache(static_scales=True, dtype="float32")
    values = [0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 1e9, -127.5, -128.5, -1e9, 3.0]
    call["key"][0, 0, : len(values)] = torch.tensor(values)
    call["key_scale"][0] = 1.0
    call["key_scale"][0, len(values) - 1] = 0.0
    got = write_on_simulator(call, cores=1)["key_cache"]
    assert got is not None
    assert got[0, 0, 5, : len(values)].tolist() == [0, 2, 2, 0, -2, 126, 127, 127, -128, -128, -128, 0]


@pytest.mark.parametrize("size", [1.0, 100.0, 189.0, 1000.0])
def test_tiny_tokens(size):
    """Scales that are subnormal, or zero although the token is not, as the reference has them."""
    call = exact_index(calls.write_cache(dtype="float32"))
    call["key"] = (
        torch.linspace(-size, size, call["key"].numel()).round().reshape(call["key"].shape) * 2**-149
    )
    assert_caches_equal(write_on_simulator(call, cores=1), reference_caches(call))


def test_tokens_of_zeros_have_scale_zero():
    call = calls.write_cache()
    for name in PER_TOKEN:
        call[name][0] = 0
    assert_caches_equal(write_on_simulator(call, cores=1), written(call))


@pytest.mark.parametrize("name", PER_TOKEN)
def test_a_token_with_nan_shows_in_its_scale_only(name):
    call = calls.write_cache()
    clean = written(call)
    call[name][0, 1, 3] = torch.nan
    got = write_on_simulator(call, cores=1)
    scale_name, cache_name = {
        "key": ("key_scale", "key_cache"),
        "value": ("value_scale", "value_cache"),
        "index_key": ("index_scale", "index_cache"),
    }[name]
    scale, cache = got[scale_name], got[cache_name]
    assert scale is not None and cache is not None and np.isnan(scale[0, 1, 5])
    scale[0, 1, 5], cache[0, 1, 5] = clean[scale_name][0, 1, 5], clean[cache_name][0, 1, 5]
    assert_caches_equal(got, clean)


@pytest.mark.parametrize("rank", [8, 24, 192])
def test_ranks_that_need_padding_are_refused(rank):
    with pytest.raises(ValueError, match=f"must have rank 64, 128 or 256 .*got rank {rank}"):
        run_write_cache(**calls.write_cache(rank=rank))


def test_tokens_are_read_and_written_once():
    call = random_tokens(calls.write_cache(), np.arange(40))
    copies = {n: v.clone() if n in WRITTEN and v is not None else v for n, v in call.items()}
    counters = run_write_cache(**copies, cores=4).counters
    for name in PER_TOKEN:
        assert counters.region_read_bytes[name] == call[name].nbytes
    rows = 40 * 2
    expected = {"key_cache": 64, "value_cache": 64, "index_cache": 32, "key_scale": 4, "index_scale": 4}
    for name, row_bytes in expected.items():
        assert counters.region_write_bytes[name] == rows * row_bytes
