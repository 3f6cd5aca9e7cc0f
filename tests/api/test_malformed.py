# SPDX-License-Identifier: Apache-2.0
"""Thousands of spoilt calls of every operator: each is refused in words, or is valid and computed.

Whether a call is valid is decided by tests/oracle.py. The examples are the same in every run; Hypothesis
prints the one that fails.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import calls
import operators
import oracle
import rules
from operators import ops
from sals.reference import selection, sfaa_two_term, write_cache
from sals.reference.plan import PlanView
from sals.reference.qsi import block_scores, select_from_scores
from tolerance import assert_same_arithmetic

EXAMPLES = 2000
SEED = 110
DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool, torch.complex64,
)  # fmt: skip
INTS = (
    -(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 8, 12, 16, 24, 32, 64, 70, 97, 128, 255, 256, 2048, 8193,
    65536, 2**20, 2**20 + 1, 2**24, 2**24 + 1, 2**31, 2**62, 2**63 - 1, 2**63, None, "16", 1.5,
)  # fmt: skip
INT32_VALUES = (
    -(2**31),
    -(2**20),
    -2,
    -1,
    0,
    1,
    2,
    4,
    5,
    6,
    15,
    16,
    63,
    64,
    71,
    96,
    97,
    2**16,
    2**24,
    2**31 - 1,
)
FLOATS = (
    math.nan, math.inf, -math.inf, -1.0, -0.0, 0.0, 1e-300, 1e-9, 0.5, 1.0, 2.0, 3e38, 1e39, 1e308, 1,
    None, "0.5",
)  # fmt: skip
FLOAT32_VALUES = (math.nan, math.inf, -math.inf, -1.0, -0.0, 0.0, 1e-40, 3e38)
WORDS = (
    "", "BSND", "TND", "PA_BNSD", "PA_BSND", "PA_NZ", "PA_KV", "index", "score", "pa_nz", "BSND ", "\0",
    "x" * 999, "%s%n", None, 3,
)  # fmt: skip
FLAGS = (True, False, "yes")


# ---- spoiling a call -------------------------------------------------------------------------------------


def _cut(t: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    return t.narrow(axis, 0, min(size, t.shape[axis])).contiguous()


def _wild(t: torch.Tensor, where: int, value: int) -> torch.Tensor:
    """Put an unlikely value at one place, or everywhere."""
    if t.numel() == 0 or t.is_complex() or t.device.type != "cpu":
        return t
    values = FLOAT32_VALUES if t.is_floating_point() else INT32_VALUES
    t = t.clone().contiguous()
    chosen = torch.tensor(values[value % len(values)], dtype=torch.float64).to(t.dtype)
    if where % 8 == 7:
        return chosen.expand(t.shape).clone()
    t.view(-1)[(where * 7919 + where // 8) % t.numel()] = chosen
    return t


OPTIONAL_INT32 = ("query_lens", "query_start_loc", "block_table", "plan")

SHAPE_CHANGES = (
    lambda t, axis, value: None,
    lambda t, axis, value: t.to(DTYPES[value % len(DTYPES)]),
    lambda t, axis, value: t[None],
    lambda t, axis, value: t[..., None],
    lambda t, axis, value: t.sum() if not t.is_complex() else t.flatten()[:1].sum(),
    lambda t, axis, value: t.flatten(),
    lambda t, axis, value: _cut(t, axis, 0),
    lambda t, axis, value: _cut(t, axis, max(t.shape[axis] - 1, 0)),
    lambda t, axis, value: _cut(t, axis, 1),
    lambda t, axis, value: torch.cat([t, _cut(t, axis, 1)], axis),
    lambda t, axis, value: torch.cat([t] * 2, axis),
    lambda t, axis, value: t.transpose(axis, value % t.dim()),
    lambda t, axis, value: t.repeat_interleave(2, -1)[..., ::2],
    lambda t, axis, value: _cut(t, axis, 1).expand(t.shape) if t.shape[axis] else t,
    lambda t, axis, value: t.to("meta"),
    lambda t, axis, value: ("tensor", 7, 1.5, [1, 2])[value % 4],
)


def spoil_tensor(t: torch.Tensor, kind: int, where: int, value: int) -> Any:
    if kind >= len(SHAPE_CHANGES) or t.dim() == 0 or t.device.type == "meta":
        return _wild(t, where, value)
    return SHAPE_CHANGES[kind](t, where % t.dim(), value)


def spoil(call: calls.Call, changes: list[tuple[int, int, int, int]]) -> calls.Call:
    """Change some arguments of a call; every new value is a copy."""
    original, call = call, dict(call)
    names = sorted(call)
    for which, kind, where, value in changes:
        name = names[which % len(names)]
        old = original[name]
        if isinstance(old, torch.Tensor):
            call[name] = spoil_tensor(old, kind, where, value)
        elif isinstance(old, bool):
            call[name] = FLAGS[value % len(FLAGS)]
        elif isinstance(old, int):
            call[name] = INTS[(value + where) % len(INTS)]
        elif isinstance(old, float):
            call[name] = FLOATS[value % len(FLOATS)]
        elif isinstance(old, str):
            call[name] = WORDS[value % len(WORDS)]
        elif old is None and name in OPTIONAL_INT32:
            shape = ((), (2,), (3,), (2, 3), (512,), (0,))[where % 6]
            call[name] = torch.full(shape, INT32_VALUES[value % len(INT32_VALUES)], dtype=torch.int32)
    return call


CHANGE = st.tuples(
    st.integers(0, 23), st.integers(0, 2 * len(SHAPE_CHANGES)), st.integers(0, 63), st.integers(0, 63)
)
CHANGES = st.lists(CHANGE, min_size=1, max_size=3)

# ---- what a valid call must return ------------------------------------------------------------------------


def arrays(call: calls.Call) -> calls.Call:
    return {name: operators.to_numpy(v) if isinstance(v, torch.Tensor) else v for name, v in call.items()}


BATCH = ("query_lens", "query_start_loc", "query_layout")


def check_scores(call: calls.Call, scores: torch.Tensor) -> None:
    """Float32 scores of the reference, 1e-5 relative: enough to see a wrong token, key or scale."""
    given = arrays(call)
    with np.errstate(all="ignore"):
        expected = block_scores(**given, dtype=np.float32)
    assert scores.shape == expected.shape and scores.dtype == torch.float32
    found, expected = selection.normalise_scores(scores.numpy()), selection.normalise_scores(expected)
    finite = np.isfinite(expected)
    if np.isposinf(found).any() or not np.isfinite(given["key_scale"][~np.isnan(given["key_scale"])]).all():
        return  # where logits overflow, infinity and NaN depend on the order of operations
    np.testing.assert_array_equal(np.isfinite(found), finite)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-5, atol=1e-5)


def check_selection(call: calls.Call, result: tuple[torch.Tensor, torch.Tensor]) -> None:
    """The lists are the rule's for the operator's own scores."""
    names = [argument.name for argument in ops.block_scores.default._schema.arguments]
    scores = ops.block_scores(**{name: call[name] for name in names if name in call}).numpy()
    given = arrays(call)
    fields = (
        "block_size",
        "keep_num",
        "keep_den",
        "min_blocks",
        "max_blocks",
        "coverage",
        "sink_blocks",
        "tail_blocks",
    )
    params = selection.SelectionParams(**{name: given[name] for name in fields}, order=given["order"])
    params = dataclasses.replace(params, coverage=min(params.coverage, 1.0))  # 1 and more keep everything
    batch = {name: given[name] for name in (*BATCH, "max_seq_len")}
    ids, lens = select_from_scores(scores, given["seq_lens"], params, **batch)
    np.testing.assert_array_equal(result[0].numpy(), ids)
    np.testing.assert_array_equal(result[1].numpy(), lens)


def check_attention(call: calls.Call, result: tuple[torch.Tensor, torch.Tensor]) -> None:
    given = arrays(call)
    given.pop("plan", None)
    wants_lse = given.pop("return_lse")
    if given["query_layout"] == "BSND" and given["query_lens"] is not None:
        given["query_lens"] = np.minimum(given["query_lens"], given["query"].shape[1])
    out, lse = (operators.to_numpy(t) for t in result)
    assert out.shape == given["query"].shape and result[0].dtype == call["query"].dtype
    assert lse.shape == (given["query"].shape[:-1] if wants_lse else (0,))
    ordinary = abs(given["scale"]) <= 4 and all(
        np.abs(given[name][~np.isnan(given[name])]).max(initial=0) <= 100
        for name in ("query", "key_scale", "value_scale")
    )
    with np.errstate(all="ignore"):
        expected, expected_lse = sfaa_two_term(**given)
    np.testing.assert_array_equal(out[np.isneginf(expected_lse)], 0)
    if not ordinary or np.isnan(expected).any() or np.isnan(given["query"]).any():
        return
    magnitude = max(1.0, float(np.abs(expected).max(initial=0)))
    logit = float(np.abs(expected_lse[np.isfinite(expected_lse)]).max(initial=0))
    rounding = {torch.bfloat16: 2**-7, torch.float16: 2**-10, torch.float32: 0.0}[call["query"].dtype]
    assert_same_arithmetic(out, expected, magnitude * (1 + rounding * 2e4), logit)
    if wants_lse:
        np.testing.assert_array_equal(np.isneginf(lse), np.isneginf(expected_lse))


def check_plan(call: calls.Call, plan: torch.Tensor) -> None:
    view = PlanView(plan.numpy())
    cores = view.field("num_cores")
    tokens = int(call["query_start_loc"][-1]) if call["query_layout"] == "TND" else (
        len(call["seq_lens"]) * (1 if call.get("shared_list") else call["s_q"])
    )  # fmt: skip
    rows = tokens * call.get("n_idx", call.get("n_kv"))
    boundaries = [view.boundary(core) for core in range(cores + 1)]
    assert boundaries == sorted(boundaries) and boundaries[0] == (0, 0) and boundaries[-1] == (rows, 0)
    assert view.field("num_rows") == rows and view.field("used_cores") <= cores
    assert call["num_cores"] in (0, cores)


def check_projection(call: calls.Call, result: tuple[torch.Tensor, torch.Tensor]) -> None:
    packed, scale = result
    leading, n_idx = call["query"].shape[:-2], call["n_idx"]
    assert packed.shape == (*leading, n_idx, call["projection"].shape[2] // 8)
    assert scale.shape == (*leading, n_idx)
    operands = (call["query"], call["projection"])
    if (
        packed.numel() == 0
        or abs(call["scale"]) > 1e30
        or not all(t.isfinite().all() and t.abs().max() < 100 for t in operands)
    ):
        return
    heads = call["projection"].shape[1] // call["query"].shape[-1]
    means = call["query"].double().reshape(*leading, n_idx * heads, -1, call["query"].shape[-1]).mean(-2)
    means = means.reshape(*leading, n_idx, -1)
    latent = torch.einsum("...hi,hir->...hr", means, call["projection"].double())
    golden = latent.abs().amax(-1) / 7 * call["scale"]
    torch.testing.assert_close(scale.double(), golden, rtol=1e-4, atol=1e-30)


def check_caches(call: calls.Call, before: calls.Call) -> None:
    """int8 caches and their scales are the reference's, bit for bit."""
    given, targets = arrays(before), arrays(before)
    targets |= {name: given[name].copy() for name in WRITTEN if given[name] is not None}
    read = ("key", "value", "index_key", "projection", "key_scale", "value_scale")
    if not all(np.isfinite(given[name]).all() for name in read):
        return
    with np.errstate(all="ignore"):
        write_cache(**targets)
    for name in ("key_cache", "value_cache", "key_scale", "value_scale"):
        if targets[name] is not None:
            np.testing.assert_array_equal(call[name].numpy(), targets[name], err_msg=name)


WRITTEN = ("key_cache", "value_cache", "index_cache", "index_scale", "key_scale", "value_scale")
CHECKS = {
    "qsi": check_selection,
    "block_scores": check_scores,
    "sfaa": check_attention,
    "qsi_plan": check_plan,
    "sfaa_plan": check_plan,
    "project_query": check_projection,
}

# ---- the test --------------------------------------------------------------------------------------------

MTP = {"s_q": 2, "query_lens": (2, 1)}
FORMS: dict[str, list[dict]] = {
    "qsi": [{}, {"layout": "BSND", **MTP}, {"plan": "qsi_plan"}, rules.TND, {"layout": "PA_NZ"}],
    "block_scores": [{}, {"layout": "BSND", **MTP}, rules.TND, {"layout": "PA_NZ"}],
    "sfaa": [
        {},
        {"layout": "BSND", **MTP, "static_scales": False},
        {"plan": "sfaa_plan"},
        rules.TND,
        {"layout": "PA_KV", "dtype": "float32"},
    ],
    "qsi_plan": [{}, MTP, rules.TND],
    "sfaa_plan": [{}, MTP, rules.TND],
    "project_query": [{}, {"n_idx": 1, "dtype": "float32"}],
    "write_cache": [{}, {"layout": "PA_KV", "static_scales": True}, {"layout": "BSND", "dtype": "float32"}],
}  # fmt: skip


@functools.cache
def valid_call(op: str, form: int) -> calls.Call:
    return rules.valid_call(op, FORMS[op][form])


def all_on_meta(call: calls.Call) -> bool:
    tensors = [value for value in call.values() if isinstance(value, torch.Tensor)]
    return all(tensor.is_meta for tensor in tensors)


def writable(name: str, value: Any) -> Any:
    """Copy a cache that write_cache may write, so that the call it came from stays valid."""
    is_cache = name in WRITTEN and isinstance(value, torch.Tensor) and value.is_contiguous()
    return value.clone() if is_cache else value


def check_call(op: str, call: calls.Call) -> str:
    """Run a call that may be spoilt; return the oracle's verdict, which the operator has confirmed."""
    if all_on_meta(call):
        return "meta"
    verdict = oracle.verdict(op, call)
    before = call
    if op == "write_cache":
        call = {name: writable(name, value) for name, value in call.items()}
    try:
        result = calls.run(op, call)
    except (ValueError, RuntimeError, TypeError) as error:
        message = str(error)
        assert verdict != oracle.VALID, f"a valid call was refused: {message}"
        if verdict == oracle.RULE:
            assert type(error) is ValueError and message.startswith(f"sals::{op}: "), repr(error)
        else:
            assert f"sals::{op}" in message or "Overflow" in message or "unpack" in message, repr(error)
        return verdict
    assert verdict == oracle.VALID, f"a call that breaks a {verdict} was accepted"
    if op == "write_cache":
        check_caches(call, before)
    else:
        CHECKS[op](call, result)
    return verdict


@pytest.mark.sanitize
@pytest.mark.parametrize("op", list(FORMS))
def test_spoilt_calls(op):
    verdicts: dict[str, int] = {}
    print(f"hypothesis seed {SEED}")

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=False, print_blob=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.integers(0, len(FORMS[op]) - 1), CHANGES)
    def run(form, changes):
        found = check_call(op, spoil(valid_call(op, form), changes))
        verdicts[found] = verdicts.get(found, 0) + 1

    run()
    print(op, verdicts)
    assert verdicts[oracle.RULE] > EXAMPLES / 10 and verdicts[oracle.VALID] > EXAMPLES / 50


@pytest.mark.sanitize
@pytest.mark.parametrize(
    ("op", "form"), [(op, form) for op, forms in FORMS.items() for form in range(len(forms))]
)
def test_unspoilt_calls_are_valid(op, form):
    assert check_call(op, valid_call(op, form)) == oracle.VALID
