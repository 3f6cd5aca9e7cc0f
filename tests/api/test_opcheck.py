# SPDX-License-Identifier: Apache-2.0
"""torch.library.opcheck on every operator: schema, fake tensors, autograd registration, compiled dispatch."""

from __future__ import annotations

import pytest
import torch

import calls
import operators
import rules

FORMS: dict[str, list[dict]] = {
    "qsi": [
        {},
        {"layout": "BSND", "coverage": 0.5, "order": "score"},
        {"layout": "PA_NZ", "s_q": 2},
        {"plan": "qsi_plan"},
        rules.TND,
    ],
    "block_scores": [{}, {"layout": "BSND"}, rules.TND],
    "sfaa": [
        {},
        {"layout": "BSND", "static_scales": False},
        {"layout": "PA_KV", "s_q": 2, "dtype": "float16"},
        {"plan": "sfaa_plan", "dtype": "float32"},
        rules.TND,
    ],
    "qsi_plan": [{}, rules.TND],
    "sfaa_plan": [{}, {"s_q": 2, "coverage": 0.9}, rules.TND],
    "project_query": [{}, {"n_idx": 1, "dtype": "float16"}],
    "write_cache": [{}, {"layout": "PA_KV", "static_scales": True}, {"layout": "BSND", "dtype": "float32"}],
}
CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.mark.parametrize(
    ("op", "base"),
    [(op, base) for op, bases in FORMS.items() for base in bases],
    ids=lambda value: str(value),
)
def test_operator(op, base):
    call = rules.valid_call(op, base)
    result = torch.library.opcheck(getattr(operators.ops, op).default, (), call)
    assert result == dict.fromkeys(CHECKS, "SUCCESS")


@pytest.mark.parametrize("op", list(rules.OUT_NAMES))
def test_out_form(op):
    call = rules.valid_call(f"{op}.out", {})
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    result = torch.library.opcheck(getattr(operators.ops, op).out, (), call, test_utils=checks)
    assert result == dict.fromkeys(checks, "SUCCESS")


@pytest.mark.parametrize("op", list(FORMS))
def test_meta_tensors_get_the_shapes_of_real_ones(op):
    call = rules.valid_call(op, {})
    real = calls.run(op, call)
    on_meta = {
        name: value.to("meta") if isinstance(value, torch.Tensor) else value for name, value in call.items()
    }
    shapes = calls.run(op, on_meta)
    if real is None:
        assert shapes is None
        return
    if isinstance(real, torch.Tensor):
        real, shapes = (real,), (shapes,)
    for a, b in zip(real, shapes, strict=True):
        assert b.is_meta and a.shape == b.shape and a.dtype == b.dtype and b.is_contiguous()
