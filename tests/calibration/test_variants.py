# SPDX-License-Identifier: Apache-2.0
"""Projections and the moments that they come from."""

from __future__ import annotations

import pytest
import torch

from calibration import tiny
from sals.calibration.moments import Moments, collect_moments
from sals.calibration.probe import attention_replaced, causal_attention
from sals.calibration.variants import ProjectionFactory, Variant, default_variants, spreading_rotation


@pytest.mark.parametrize("rank", [8, 24, 40, 64])
def test_spreading_rotation_is_orthogonal_and_flat(rank):
    matrix = spreading_rotation(rank)
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(rank, dtype=torch.float64), rtol=0, atol=1e-12)
    # Hadamard entries are 1/sqrt(rank); those of a cosine transform at most sqrt(2) larger.
    assert matrix.abs().max() <= (2 / rank) ** 0.5 + 1e-12


def factory(samples: torch.Tensor) -> ProjectionFactory:
    moments = Moments.zeros(samples.shape[1] * samples.shape[2])
    for part in samples.split(100):
        moments.add(part)
    return ProjectionFactory({True: [moments], False: [moments]}, samples.shape[1], samples.shape[2])


@pytest.mark.parametrize("joint", [False, True])
def test_pca_keeps_the_most_energy(joint):
    """The energy on r eigenvectors is the sum of the r largest eigenvalues: the most possible."""
    generator = torch.Generator().manual_seed(0)
    samples = torch.randn(500, 2, 16, generator=generator) * torch.linspace(0.1, 3, 16)
    samples = samples @ torch.linalg.qr(torch.randn(16, 16, generator=generator)).Q
    rows = samples.flatten(1)[None] if joint else samples.transpose(0, 1)
    for spread in (False, True):
        projection = factory(samples).projection(Variant("pca", 8, True, joint, spread))[0]
        energy = (rows @ projection).square().sum((1, 2))
        most = torch.linalg.svdvals(rows)[:, :8].square().sum(1)
        torch.testing.assert_close(energy, most, rtol=1e-4, atol=0)


def test_full_rank_bases_keep_every_product():
    samples = torch.randn(300, 2, 16, generator=torch.Generator().manual_seed(1))
    for basis in ("identity", "pca"):
        projection = factory(samples).projection(Variant(basis, 16, False, spread=True))[0]
        product = projection @ projection.mT
        torch.testing.assert_close(product, torch.eye(16).expand_as(product), rtol=0, atol=1e-5)


def test_impossible_variants_are_refused():
    build = factory(torch.randn(50, 2, 16))
    with pytest.raises(
        ValueError, match="rank must be at most 16 for the variant 'rotated, per head, rank 24, pca'"
    ):
        build.projection(Variant("pca", 24, True))
    with pytest.raises(ValueError, match="rank must be 16 for the variant"):
        build.projection(Variant("identity", 8, True))
    with pytest.raises(ValueError, match="basis must be one of identity, pca, got 'svd'"):
        Variant("svd", 8, True)


def test_default_variants_have_distinct_names():
    names = [variant.name for variant in default_variants(2, 64)]
    assert len(set(names)) == len(names) == 20
    assert not any(variant.joint for variant in default_variants(1, 64))


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_plain_keys_become_the_cached_ones_by_rope(kind):
    model = tiny.model(kind)
    calls = []

    def record(call):
        calls.append(call)
        return causal_attention(call)

    ids = tiny.tokens(30)
    with torch.inference_mode(), attention_replaced(model, record):
        replaced = model(ids[None], use_cache=False).logits
    with torch.inference_mode():
        original = model(ids[None], use_cache=False).logits
        cos, sin = model.model.rotary_emb(original, torch.arange(30)[None])
    torch.testing.assert_close(replaced, original, rtol=1e-4, atol=1e-4)
    assert [call.layer for call in calls] == [0, 1, 2]
    for call in calls:
        for plain, rotated in ((call.plain_key, call.key), (call.plain_query, call.query)):
            first, second = plain.chunk(2, -1)
            expected = plain * cos[0][:, None] + torch.cat([-second, first], -1) * sin[0][:, None]
            torch.testing.assert_close(rotated, expected, rtol=1e-5, atol=1e-5)


def test_moments_cover_positions_and_skip_sinks():
    model = tiny.model()
    window = tiny.tokens(40)
    moments = collect_moments(model, [window, window], max_seq_len=500, skip=8)
    assert [layer.count for layer in moments[True]] == [64] * 3
    keys = model.model.layers[0].self_attn.k_proj(
        model.model.layers[0].input_layernorm(model.model.embed_tokens(window))
    )[8:]
    expected = (keys.double().T @ keys.double()) / 32
    torch.testing.assert_close(moments[False][0].second_moment(), expected, rtol=1e-4, atol=1e-4)
    near = collect_moments(model, [window, window], max_seq_len=40, skip=8)
    torch.testing.assert_close(near[False][2].outer, moments[False][2].outer, rtol=1e-2, atol=1e-2)
    assert not torch.allclose(near[True][0].outer, moments[True][0].outer, rtol=1e-2, atol=1e-2)
