# SPDX-License-Identifier: Apache-2.0
"""The measurements and the choice, on models with random weights."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest
import torch

from calibration import tiny
from sals.calibration import Budget, Calibration, CalibrationOptions, Variant, calibrate
from sals.calibration.evaluate import HeldOut, attention_block_scores, index_scorer
from sals.calibration.study import split_text

BUDGET = Budget(block_size=8, sink_blocks=1, tail_blocks=2)
OPTIONS = CalibrationOptions(
    budget=BUDGET,
    windows=3,
    window_tokens=48,
    offsets=2,
    context=96,
    eval_tokens=12,
    dense_candidates=2,
)


@pytest.fixture(scope="module")
def place() -> HeldOut:
    return HeldOut(tiny.model(), tiny.tokens(96 + 12 + 1), 96, BUDGET)


def test_dense_likelihoods_are_those_of_the_model(place):
    ids = tiny.tokens(96 + 12 + 1)
    with torch.inference_mode():
        logits = tiny.model()(ids[None, :-1]).logits[0, 96:]
    expected = torch.nn.functional.cross_entropy(logits, ids[97:], reduction="none")
    torch.testing.assert_close(place.dense().nll.float(), expected, rtol=1e-4, atol=1e-4)
    assert place.dense().kl.abs().max() < 1e-6


def test_keeping_everything_is_dense(place):
    scorer = index_scorer(torch.eye(16).expand(3, 2, 16, 16), True, BUDGET)
    for rows in (
        place.sparse(None, Fraction(0), int8_cache=False),
        place.sparse(scorer, Fraction(1), (), False),
    ):
        assert rows.kl.abs().max() < 1e-5
    all_dense = place.sparse(scorer, Fraction(0), dense_layers=(0, 1, 2))
    assert all_dense.kl.abs().max() < 1e-5
    assert 1e-7 < place.sparse(None, Fraction(0)).kl.mean() < 0.05


def test_repeated_runs_do_not_disturb_each_other(place):
    first = place.sparse(None, Fraction(0))
    place.sparse(lambda call: attention_block_scores(call, 8), Fraction(1, 4))
    assert torch.equal(first.kl, place.sparse(None, Fraction(0)).kl)


def test_mass_is_the_share_of_dense_attention(place):
    keeps = [Fraction(0), Fraction(1, 4), Fraction(1)]
    scorers = {
        "true": lambda call: attention_block_scores(call, 8),
        "worst": lambda call: -attention_block_scores(call, 8),
    }
    mass = place.kept_mass(scorers, keeps)
    torch.testing.assert_close(mass["true", keeps[2]], torch.ones(3).double(), rtol=0, atol=1e-5)
    torch.testing.assert_close(mass["true", keeps[0]], mass["worst", keeps[0]], rtol=0, atol=0)
    assert (mass["true", keeps[1]] > mass["worst", keeps[1]]).all()
    assert (mass["worst", keeps[1]] > mass["worst", keeps[0]]).all()


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_calibrate_reports_what_it_tried_and_marks_the_choice(kind, tmp_path):
    model = tiny.model(kind)
    told = []
    result = calibrate(model, tiny.tokens(600), OPTIONS, progress=told.append)
    result.validate_for(model.config)
    chosen = [entry for entry in result.report if entry["chosen"]]
    assert len(chosen) == 1 and told
    assert len(result.report) == 16  # rank head_dim / 4 = 4 is no multiple of 8
    assert chosen[0]["rank"] == result.rank and chosen[0]["rotated"] == result.rotated
    measured = [entry for entry in result.report if entry["kl"]]
    assert {(entry["rotated"], entry["joint"]) for entry in measured} == {
        (rotated, joint) for rotated in (False, True) for joint in (False, True)
    }
    assert chosen[0]["reason"].startswith("fewest index bytes")
    assert {bool(entry["kl"]) for entry in result.report if "less attention mass" in entry["reason"]} == {
        False
    }
    best = min(sum(entry["kl"].values()) for entry in measured)
    assert sum(chosen[0]["kl"].values()) <= best * (1 + OPTIONS.tolerance) + 1e-12
    trials = result.settings["dense_layer_trials"]
    assert len(trials) == 2
    assert set(result.settings["result"]["kl"]) == {"1/4", "1/8"}
    assert result.dense_layers == tuple(sorted(trial["layer"] for trial in trials if trial["chosen"]))
    result.save(tmp_path / "c.safetensors")
    assert Calibration.load(tmp_path / "c.safetensors").report == result.report


def test_the_smaller_index_wins_within_the_tolerance():
    variants = (Variant("pca", 16, True), Variant("pca", 8, True))
    wide = dataclasses.replace(OPTIONS, variants=variants, tolerance=1e9)
    assert calibrate(tiny.model(), tiny.tokens(600), wide).rank == 8


def test_model_is_left_as_it_was():
    model = tiny.model()
    before = model.config._attn_implementation
    calibrate(model, tiny.tokens(600), dataclasses.replace(OPTIONS, variants=(Variant("pca", 8, True),)))
    assert model.config._attn_implementation == before
    assert not any(module._forward_hooks for module in model.modules())


def test_text_is_split_into_halves():
    ids = torch.arange(600)
    windows, excerpts = split_text(ids, OPTIONS)
    assert [window[0].item() for window in windows] == [0, 100, 200]
    assert [excerpt[0].item() for excerpt in excerpts] == [300, 450]
    assert {len(window) for window in windows} == {48} and {len(excerpt) for excerpt in excerpts} == {109}


def test_wrong_input_is_named():
    beyond = dataclasses.replace(OPTIONS, offsets=1, context=1020)
    with pytest.raises(ValueError, match=r"must be at most the model's 1024 positions, got 1032"):
        calibrate(tiny.model(), tiny.tokens(3000), beyond)
    with pytest.raises(ValueError, match=r"tokens must hold at least 436 tokens for these options, got 100"):
        calibrate(tiny.model(), tiny.tokens(100), OPTIONS)
    with pytest.raises(
        ValueError, match=r"tokens must be a vector of token ids, got torch.int64 of shape \[1, 600\]"
    ):
        calibrate(tiny.model(), tiny.tokens(600)[None], OPTIONS)
    with pytest.raises(
        ValueError, match=r"context must exceed the 528 tokens that sink and tail blocks keep, got 9"
    ):
        CalibrationOptions(context=9)
    with pytest.raises(ValueError, match=r"keeps must be in \(0, 1\], got 2"):
        CalibrationOptions(keeps=(Fraction(2),))
    with pytest.raises(
        ValueError, match=r"window_tokens must exceed the 16 tokens of the sink blocks, got 16"
    ):
        CalibrationOptions(window_tokens=16)
    with pytest.raises(ValueError, match=r"offsets must be positive, got 0"):
        CalibrationOptions(offsets=0)
    model = tiny.model()
    del model.model.layers[1].self_attn.q_proj
    with pytest.raises(
        ValueError, match=r"model must have q_proj and k_proj in each of its 3 attention layers, got 2"
    ):
        calibrate(model, tiny.tokens(600), OPTIONS)
