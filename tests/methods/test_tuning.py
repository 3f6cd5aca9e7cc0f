# SPDX-License-Identifier: Apache-2.0
"""The coverage that meets a budget, and the bytes that a method takes."""

from __future__ import annotations

import warnings

import pytest
import torch

from methods.rows import GROUP, HEAD_DIM, Requests, new_layer, prompt, step
from sals.calibration import ModelFingerprint
from sals.methods import Evictor, Selector, make_method
from sals.methods.memory import footprint, requests_that_fit, row_slots
from sals.methods.stca import Stca
from sals.methods.tuning import CoverageWarning, find_coverage


def scores(sharpness: float, rows: int = 4, tokens: int = 500) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(11)
    return [torch.rand(rows, tokens, generator=generator) ** sharpness for _ in range(3)]


@pytest.mark.parametrize("budget", [60, 125, 250])
def test_the_coverage_meets_the_budget(budget: int) -> None:
    method = make_method("stca", budget=500)
    assert isinstance(method, Stca)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        fit = find_coverage(method, scores(2), budget)
    assert budget - 1 <= fit.mean <= budget
    assert fit.counts.shape == (3, 4)
    lengths = torch.full((4,), 500)
    kept = method.cover(scores(2)[0], lengths).kept(fit.coverage, method.min_keep, method.budget)
    assert kept.sum(1).tolist() == fit.counts[0].tolist()
    assert fit.variance == pytest.approx(float(fit.counts.double().var(unbiased=False)))


def test_what_the_article_warns_of() -> None:
    method = make_method("stca", budget=500)
    assert isinstance(method, Stca)
    uneven = [torch.cat([torch.ones(2, 500), torch.eye(500)[:2] + 1e-6])]
    with pytest.warns(CoverageWarning) as caught:
        fit = find_coverage(method, uneven, 200)
    assert any("raise min_keep" in line for line in fit.advice)
    assert [str(warning.message) for warning in caught] == list(fit.advice)
    with pytest.warns(CoverageWarning, match=r"outside the usual 0\.8 to 0\.95: expect a loss"):
        find_coverage(method, scores(0.5), 80)
    with pytest.warns(CoverageWarning, match=r"nothing is evicted"):
        assert find_coverage(method, scores(2), 500).coverage == 1


def test_a_budget_below_what_is_always_kept() -> None:
    method = make_method("stca", budget=500, min_keep=50)
    assert isinstance(method, Stca)
    with pytest.raises(
        ValueError, match=r"budget must be at least 50 tokens, which sinks, recent and min_keep"
    ):
        find_coverage(method, scores(2), 40)


FACTS = ModelFingerprint("llama", n_layers=1, n_q=4 * GROUP, n_kv=4, head_dim=HEAD_DIM, hidden_size=1)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("dense", {}),
        ("quest", {"budget": 128}),
        ("oracle", {"budget": 128}),
        ("window", {"budget": 128}),
        ("streaming", {"budget": 128}),
        ("h2o", {"budget": 512}),
        ("random", {"budget": 128}),
        ("stca", {"budget": 600, "coverage": 0.9}),
        ("stca", {"budget": 600, "coverage": 0.9, "scores": "sketch"}),
        ("stca", {"budget": 600, "coverage": 0.8, "low": "demote"}),
    ],
    ids=str,
)
def test_resident_bytes_are_the_formulas(name: str, settings: dict) -> None:
    """Within 5 %, at every step. Selectors allocate the longest length at once."""
    requests = Requests.random(4, 1040)
    method = make_method(name, **settings)
    kv = new_layer(method, 1040)
    prompt(kv, requests, 960)
    worst = 0.0
    for token in range(960, 1040):
        step(kv, requests, token, token + 1)
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in kv.tensors()}
        tokens = 1040.0
        if isinstance(method, Evictor):
            tokens = row_slots(method, float(kv._kept.double().mean()))
        had = 1040 if isinstance(method, Selector) else token + 1
        ratio = sum(storages.values()) / footprint(method, FACTS, had, tokens).stored
        worst = max(worst, abs(ratio - 1))
    print(f"off by {worst:.4f}")
    assert worst <= 0.05


def test_what_a_step_reads() -> None:
    assert footprint(make_method("streaming", budget=100), FACTS, 1000, 100).read == 4 * 100 * 136
    # H2O reads its keys and scores once more to score; the window does not.
    assert footprint(make_method("h2o", budget=100), FACTS, 1000, 100).read == 4 * 100 * (136 + 68 + 4)
    # Quest reads two float16 numbers a channel for each block of 16.
    assert footprint(make_method("quest", budget=128), FACTS, 1600, 128).read == 4 * (128 * 136 + 1600 * 16)
    assert requests_that_fit(1000, 300) == 3
