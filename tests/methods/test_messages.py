# SPDX-License-Identifier: Apache-2.0
"""Wrong budgets, thresholds, positions and shapes are refused with a sentence that says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from methods.rows import Requests, new_layer, prompt, step
from sals.methods import make_method
from sals.methods.tuning import find_coverage

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("h3o", {}, r"method must be one of dense, sals, .*, got 'h3o'"),
    ("h2o", {"budget": 64, "bugdet": 3}, r"settings of h2o must be among budget, .*, got bugdet"),
    ("h2o", {"budget": 0}, r"sals\.methods\.h2o: budget must be at least 1, got 0"),
    ("h2o", {"budget": -5}, r"budget must be at least 1, got -5"),
    ("h2o", {"budget": 64.5}, r"budget must be a number of tokens, got 64\.5"),
    ("h2o", {"budget": True}, r"budget must be a number of tokens, got True"),
    ("h2o", {"budget": 64, "recent": -1}, r"recent must be at least 0, got -1"),
    (
        "h2o",
        {"budget": 64, "sinks": 4, "recent": 61},
        r"budget must hold sinks \+ recent = 65 tokens, got 64",
    ),
    ("h2o", {"budget": 64, "interval": 0}, r"interval must be at least 1, got 0"),
    ("h2o", {"budget": 64, "decay": 1.5}, r"decay must be in \[0, 1\], got 1\.5"),
    ("h2o", {"budget": 64, "decay": float("nan")}, r"decay must be in \[0, 1\], got nan"),
    ("h2o", {"budget": 64, "reduce": "sum"}, r"reduce must be mean or max, got 'sum'"),
    ("streaming", {"budget": 4}, r"budget must hold sinks \+ interval = 5 tokens, got 4"),
    (
        "streaming",
        {"budget": 64, "positions": "roling"},
        r"positions must be original or rolling, got 'roling'",
    ),
    ("window", {"budget": 64, "sinks": 4}, r"sinks must be 0, got 4; use streaming"),
    ("stca", {"budget": 64, "coverage": 1.01}, r"coverage must be in \[0, 1\], got 1\.01"),
    ("stca", {"budget": 64, "coverage": "high"}, r"coverage must be in \[0, 1\], got 'high'"),
    ("stca", {"budget": 64, "min_keep": 65}, r"min_keep must be at most budget = 64, got 65"),
    ("stca", {"budget": 30}, r"budget must hold sinks \+ recent = 36 tokens, got 30"),
    ("stca", {"budget": 64, "low": "drop"}, r"low must be one of evict, demote, got 'drop'"),
    ("stca", {"budget": 64, "scores": "guess"}, r"scores must be one of attention, sketch, got 'guess'"),
    ("stca", {"budget": 64, "ratio": 5}, r"ratio must be one of \(4, 8, 16, 32\), got 5"),
    ("sketch", {"ratio": 7}, r"ratio must be one of \(4, 8, 16, 32\), got 7"),
    ("sketch", {"seed": -1}, r"seed must be at least 0, got -1"),
    ("quest", {"budget": 16}, r"budget must hold the 32 tokens that are always read, got 16"),
    ("quest", {"budget": 128, "block_size": 12}, r"block_size must be 8, 16, 32, 64 or 128, got 12"),
    ("quest", {"budget": 128, "recent": 0}, r"recent must be at least 1, got 0"),
    ("oracle", {"coverage": -0.1}, r"coverage must be in \[0, 1\], got -0\.1"),
    ("dense", {"budget": 128}, r"budget and coverage must not be given, got 128 and 0\.0"),
]


@pytest.mark.parametrize(("name", "settings", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_settings(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_method(name, **settings)


def test_a_missing_budget() -> None:
    with pytest.raises(TypeError, match=r"budget"):
        make_method("h2o")


def test_a_selector_that_runs_out_of_room() -> None:
    requests = Requests.random(2, 60)
    kv = new_layer(make_method("dense"), 50)
    prompt(kv, requests, 48)
    step(kv, requests, 48, 50)
    with pytest.raises(ValueError, match=r"max_len must be at least 51, got 50"):
        step(kv, requests, 50, 51)


def test_wrong_shapes() -> None:
    requests = Requests.random(2, 60)
    kv = new_layer(make_method("h2o", budget=40))
    with pytest.raises(ValueError, match=r"lens must be 2 numbers from 0 to 50, got \[50, 51\]"):
        prompt(kv, requests, 50, torch.tensor([50, 51]))
    prompt(kv, requests, 50)
    lens = torch.ones(2, dtype=torch.int64)
    key = requests.key[:, 50:51]
    with pytest.raises(ValueError, match=r"key must have shape .* = \[2, 1, 64\], got \[1, 1, 64\]"):
        kv.append(key[:1], key, lens)
    with pytest.raises(ValueError, match=r"value must have shape .* = \[2, 1, 64\], got \[2, 1, 32\]"):
        kv.append(key, key[..., :32], lens)
    with pytest.raises(ValueError, match=r"lens must be 2 numbers from 0 to 1, got \[1\]"):
        kv.append(key, key, lens[:1])
    method = make_method("stca", budget=100)
    for scores in ([], [torch.ones(3)], [torch.ones(2, 5), torch.ones(2, 6)]):
        with pytest.raises(ValueError, match=r"scores must be tensors of one shape \[rows, tokens\], got"):
            find_coverage(method, scores, 50)


def test_wrong_use_of_attach() -> None:
    pytest.importorskip("transformers", reason="the extra `demo` installs transformers")
    from integrations.tiny_llama import make_calibration, make_model, random_ids
    from sals.integrations.transformers import attach

    model = make_model()
    calibration = make_calibration(model)
    h2o = {"method": "h2o", "budget": 64}
    wrong = [
        ({"method": "nothing"}, r"method must be one of dense, sals"),
        ({"method": 3}, r"method must be a name or a Method, got 3"),
        ({}, r"calibration must be given for sals, got none"),
        ({"calibration": calibration} | h2o, r"calibration must go with sals and sketch"),
        (h2o | {"keep": "1/4"}, r"keep must go with sals and sketch, got them with h2o"),
        (h2o | {"layout": "PA_NZ"}, r"layout must go with sals and sketch"),
        (h2o | {"coverage": 0.9}, r"settings of h2o must be among .*, got coverage"),
        ({"method": "sketch", "budget": 96, "keep": "1/4"}, r"keep must go with sals without a budget"),
        ({"calibration": calibration, "budget": 96, "keep": 1}, r"keep must go with sals without a budget"),
        ({"method": make_method("h2o", budget=64), "budget": 32}, r"got budget beside it"),
        ({"calibration": calibration, "method": make_method("sals", budget=96, block_size=8)},
         r"block_size must be the calibration's = 16, got 8"),
    ]  # fmt: skip
    for arguments, message in wrong:
        with pytest.raises(ValueError, match=message):
            attach(model, **arguments)
    with (
        attach(model, method="h2o", budget=64),
        pytest.raises(ValueError, match=r"must not be attached already"),
    ):
        attach(model, method="h2o", budget=64)
    with attach(model, method="h2o", budget=64) as handle:
        cache = handle.new_cache(1, 100)
    with (
        attach(model, method="h2o", budget=32),
        pytest.raises(ValueError, match=r"must come from this attachment, got one of another method"),
    ):
        model(random_ids(1, 4), cache=cache)
    with pytest.raises(RuntimeError, match=r"model must be attached first"):
        model(random_ids(1, 4), cache=handle.new_cache(1, 100))
    with attach(model, method="h2o", budget=64) as handle:
        with pytest.raises(ValueError, match=r"sals\.KeptCache: max_len must be positive, got 0"):
            handle.new_cache(1, 0)
        with pytest.raises(ValueError, match=r"max_len must be at least 10 to take 10 more columns, got 8"):
            model(random_ids(1, 10), cache=handle.new_cache(1, 8))
        with pytest.raises(ValueError, match=r"crop takes minus the number of columns to remove, got 2"):
            handle.new_cache(1, 10).crop(2)
        assert torch.is_grad_enabled() is False
