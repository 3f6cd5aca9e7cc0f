# SPDX-License-Identifier: Apache-2.0
"""The index query: group mean, projection, quantisation."""

from __future__ import annotations

import numpy as np
import pytest

from sals.reference import project_query
from sals.reference.int4 import unpack_int4
from sals.reference.projection import project


def test_by_hand():
    """Two query heads of one KV head with mean (7, 0, ...) and an identity projection."""
    query = np.zeros((1, 1, 2, 8), np.float32)
    query[..., 0, 0], query[..., 1, 0] = 10, 4
    query[..., 0, 3] = -7
    packed, scale = project_query(query, np.eye(8, dtype=np.float32)[None], n_idx=1, scale=0.5)
    assert unpack_int4(packed)[0, 0, 0].tolist() == [7, 0, 0, -4, 0, 0, 0, 0]  # -3.5 goes to the even -4
    assert scale.dtype == np.float32 and scale.tolist() == [[[0.5]]]


def loops(query, projection, n_idx):
    """Latents by explicit loops over index heads."""
    _, in_dim, rank = projection.shape
    n_q, head_dim = query.shape[-2:]
    n_kv = n_idx * in_dim // head_dim
    group = n_q // n_kv
    latents = np.zeros((*query.shape[:-2], n_idx, rank))
    for token in np.ndindex(query.shape[:-2]):
        means = [query[token][h * group : (h + 1) * group].mean(axis=0) for h in range(n_kv)]
        for h in range(n_idx):
            vector = means[h] if n_idx == n_kv else np.concatenate(means)
            latents[token][h] = vector @ projection[h]
    return latents


@pytest.mark.parametrize("n_idx", [1, 4])
@pytest.mark.parametrize("shape", [(2, 3), (5,)])
def test_agrees_with_loops(shape, n_idx):
    rng = np.random.default_rng(12)
    query = rng.standard_normal((*shape, 12, 64))
    projection = rng.standard_normal((n_idx, 64 * 4 // n_idx, 16)).astype(np.float32)
    packed, scale = project_query(query, projection, n_idx=n_idx, scale=0.125)
    assert packed.shape == (*shape, n_idx, 2) and scale.shape == (*shape, n_idx)
    latents = loops(query, projection, n_idx)
    np.testing.assert_allclose(scale, np.abs(latents).max(axis=-1) / 7 * 0.125, rtol=1e-6)
    back = unpack_int4(packed) * scale[..., None] / 0.125
    assert np.all(np.abs(back - latents) <= 0.50001 * scale[..., None] / 0.125)


def test_one_kv_head_makes_joint_and_per_head_the_same():
    rng = np.random.default_rng(13)
    heads = rng.standard_normal((3, 1, 64))
    projection = rng.standard_normal((1, 64, 8)).astype(np.float32)
    np.testing.assert_allclose(project(heads, projection)[:, 0], heads[:, 0] @ projection[0], rtol=1e-5)


def test_a_query_of_zeros_has_scale_and_codes_zero():
    packed, scale = project_query(np.zeros((1, 4, 64)), np.ones((2, 64, 8), np.float32), n_idx=2, scale=1.0)
    assert not packed.any() and not scale.any()


def test_mismatched_projections_are_refused():
    projection = np.ones((2, 64, 8), np.float32)
    with pytest.raises(ValueError, match="projection must have n_idx = 4 heads, got 2"):
        project_query(np.zeros((1, 4, 64)), projection, n_idx=4, scale=1.0)
    with pytest.raises(ValueError, match="does not fit"):
        project(np.zeros((1, 4, 64)), projection)
