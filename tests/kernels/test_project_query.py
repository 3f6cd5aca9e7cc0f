# SPDX-License-Identifier: Apache-2.0
"""The NPU kernel of project_query on the simulator.

It adds products in the order of the CPU operator, so both must agree bit for bit on everything. Against the
reference, which sums in float64, codes and scales must be nearest ones within the error of a float32 sum
(`tolerance.assert_nearest_codes`), and equal where every sum is exact.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import operators
from cache_calls import group_means
from cache_kernels import DEVICE_RANKS, project_on_simulator, projected, random_query
from sals._contract import HEAD_DIMS, STRIP_TOKENS
from sals.reference import project_query
from sals.reference.int4 import unpack_int4
from sals.simulator import run_project_query
from tolerance import assert_nearest_codes

CORES = (48, 40, 2, 1)
SCHEDULES = 20


def assert_equal(actual, expected) -> None:
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", list(operators.FLOATS))
@pytest.mark.parametrize("rank", DEVICE_RANKS)
@pytest.mark.parametrize("n_idx", [2, 1], ids=["per-head", "joint"])
@pytest.mark.parametrize("head_dim", HEAD_DIMS)
def test_projected_query(head_dim, n_idx, rank, dtype):
    call = random_query(3, n_idx=n_idx, head_dim=head_dim, rank=rank, dtype=dtype)
    packed, scale = project_on_simulator(call, cores=2, seed=1)
    assert_equal((packed, scale), projected(call))
    inputs = group_means(call["query"], n_kv=2, n_idx=n_idx)
    assert_nearest_codes(packed, scale, inputs, call["projection"].numpy(), call["scale"])


@pytest.mark.parametrize("tokens", [1, STRIP_TOKENS - 1, STRIP_TOKENS, STRIP_TOKENS + 1, 100])
@pytest.mark.parametrize("n_idx", [3, 1])
def test_results_do_not_depend_on_cores_or_schedule(tokens, n_idx):
    call = random_query(tokens, n_kv=3, n_idx=n_idx)
    expected = projected(call)
    for seed, cores in enumerate(CORES):
        assert_equal(project_on_simulator(call, cores=cores, seed=seed), expected)


@pytest.mark.slow
@pytest.mark.parametrize("cores", CORES)
def test_every_schedule(cores):
    call = random_query(70, n_kv=3, n_idx=3, group=3)
    expected = projected(call)
    for seed in range(SCHEDULES + 1):
        assert_equal(project_on_simulator(call, cores=cores, seed=seed), expected)


@pytest.mark.parametrize("group", [1, 2, 3, 16])
@pytest.mark.parametrize("n_idx", [3, 1])
def test_exact_where_sums_are(n_idx, group):
    """Small integers, and groups of 3 of which each repeats one query: no sum or mean is rounded."""
    rng = np.random.default_rng(92)
    heads = rng.integers(-8, 9, (5, 3, 1 if group == 3 else group, 64))
    query = np.broadcast_to(heads, (5, 3, group, 64)).reshape(5, 3 * group, 64).astype(np.float32)
    projection = rng.integers(-4, 5, (n_idx, 192 // n_idx, 64)).astype(np.float32) / 8
    got = run_project_query(query, projection, n_idx=n_idx, scale=0.3, cores=2)
    assert_equal(got[:2], project_query(query, projection, n_idx=n_idx, scale=0.3))


def test_batched_and_strided_queries():
    call = random_query(6)
    expected = projected(call)
    batched = {**call, "query": call["query"].reshape(3, 2, 8, 64)}
    packed, scale = project_on_simulator(batched, cores=2)
    assert packed.shape == (3, 2, 2, 8) and scale.shape == (3, 2, 2)
    assert_equal((packed.reshape(6, 2, 8), scale.reshape(6, 2)), expected)
    strided = {**call, "query": call["query"].repeat_interleave(2, -1)[..., ::2]}
    assert_equal(project_on_simulator(strided, cores=2), expected)


def test_no_tokens():
    packed, scale = project_on_simulator(random_query(0), cores=2)
    assert packed.shape == (0, 2, 8) and scale.shape == (0, 2)


def test_a_query_of_zeros_has_scale_zero():
    call = random_query(3)
    call["query"][1] = 0
    packed, scale = project_on_simulator(call, cores=1)
    assert not packed[1].any() and not scale[1].any() and packed[0].any() and (scale[[0, 2]] > 0).all()


def test_rounding_is_half_to_even():
    """amax 7 makes the scale 1: latents are codes, and halves go to even ones."""
    latent = [7, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.5]
    projection = torch.zeros(1, 64, 64)
    projection[0, 0, :8] = torch.tensor(latent)
    query = torch.zeros(1, 1, 64)
    query[..., 0] = 1
    packed, scale, _ = run_project_query(query, projection, n_idx=1, scale=1.0, cores=1)
    assert unpack_int4(packed)[0, 0, :8].tolist() == [7, 0, 2, 2, 0, -2, -2, 4] and scale.item() == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_query_that_is_not_finite_shows_in_its_scale_only(bad):
    call = random_query(4, dtype="float32")
    clean = projected(call)
    call["query"][2, 5, 7] = bad  # KV head 1
    packed, scale = project_on_simulator(call, cores=1)
    assert not np.isfinite(scale[2, 1])
    packed[2, 1], scale[2, 1] = clean[0][2, 1], clean[1][2, 1]
    assert_equal((packed, scale), clean)


@pytest.mark.parametrize("rank", [8, 24, 192])
def test_ranks_that_need_padding_are_refused(rank):
    with pytest.raises(ValueError, match=f"must have rank 64, 128 or 256 .*got rank {rank}"):
        run_project_query(**random_query(1, rank=rank))


def test_queries_are_read_once():
    """A core reads the projection of a head once per strip of 16 tokens, and every query head once."""
    call = random_query(32, group=5)
    result = run_project_query(**call, cores=2)[2]
    read, written = result.counters.region_read_bytes, result.counters.region_write_bytes
    assert read["query"] == call["query"].nbytes
    assert read["projection"] == 2 * call["projection"].nbytes
    assert written["packed"] == 32 * 2 * 32 and written["query_scale"] == 32 * 2 * 4
