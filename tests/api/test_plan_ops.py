# SPDX-License-Identifier: Apache-2.0
"""qsi_plan and sfaa_plan: the planner's words, whichever way they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import builders
import operators
from cases import CORNER, CORRECTNESS, Case
from operators import ops
from sals import _core
from sals._contract import PLAN_OP_QSI, PLAN_OP_SFAA, PLAN_WORDS
from sals.reference.plan import PlanView
from tolerance import PIECES_RELATIVE


def planner(op: int, inputs: builders.Inputs, num_cores: int) -> np.ndarray:
    """The plan by way of `sals._core`, without torch."""
    case = inputs.case
    selection = {
        name: value for name, value in case.selection_args().items() if name not in ("order", "coverage")
    }
    coverage_q = int(_core.quantize_coverage(min(case.coverage, 1.0)))
    params = _core.SelectionParams(**selection, coverage_q=coverage_q)
    attention = op == PLAN_OP_SFAA
    indexed_tokens = 1 if case.shared_list else case.s_q
    return _core.make_plan(
        op, inputs.seq_lens, inputs.query_lens, inputs.query_start_loc,
        heads=case.n_kv if attention else case.index_heads, group=case.group if attention else 1,
        s_q=case.s_q if attention else indexed_tokens, shared_list=attention and case.shared_list,
        params=params, num_cores=num_cores,
    )  # fmt: skip


@pytest.mark.parametrize("num_cores", [1, 3, 24, 64])
@pytest.mark.parametrize("case", CORRECTNESS + CORNER, ids=lambda case: case.name)
def test_operators_return_the_words_of_the_planner(case, num_cores):
    inputs = builders.build(case, seed=90)
    plan = operators.sfaa_plan(inputs, num_cores=num_cores)
    np.testing.assert_array_equal(plan.numpy(), planner(PLAN_OP_SFAA, inputs, num_cores))
    assert plan.shape == (PLAN_WORDS,) and plan.dtype == torch.int32
    if not (case.shared_list and case.query_lens):  # the indexer's only token then has its own query_lens
        plan = operators.qsi_plan(inputs, num_cores=num_cores)
        np.testing.assert_array_equal(plan.numpy(), planner(PLAN_OP_QSI, inputs, num_cores))


@pytest.mark.sanitize
@pytest.mark.parametrize("case", CORRECTNESS + CORNER, ids=lambda case: case.name)
def test_results_by_plan(case):
    """Every case runs by plan: the same lists, and attention that differs by the merge's rounding only."""
    inputs = builders.build(case, seed=91)
    block_ids, selected_lens = operators.qsi(inputs)
    out, lse = operators.sfaa(inputs, block_ids, "float32")
    for num_cores in (1, 7):
        planned = operators.qsi(inputs, plan=operators.qsi_plan(inputs, num_cores=num_cores))
        np.testing.assert_array_equal(planned[0], block_ids)
        np.testing.assert_array_equal(planned[1], selected_lens)
        plan = operators.sfaa_plan(inputs, num_cores=num_cores)
        got, got_lse = operators.sfaa(inputs, block_ids, "float32", plan=plan)
        np.testing.assert_allclose(got, out, rtol=0, atol=PIECES_RELATIVE * np.abs(out).max(initial=0))
        np.testing.assert_allclose(got_lse, lse, rtol=1e-5)


def test_the_number_of_cores_is_that_of_the_threads():
    inputs = builders.build(Case("cores"), seed=92)
    view = PlanView(operators.sfaa_plan(inputs).numpy())
    assert view.field("num_cores") == min(torch.get_num_threads(), 64)
    assert PlanView(operators.qsi_plan(inputs).numpy()).field("num_cores") == view.field("num_cores")


@pytest.mark.parametrize("op", ["qsi_plan", "sfaa_plan"])
def test_out_forms_write_every_word(op):
    inputs = builders.build(Case("out", seq_lens=(9000, 40, 0, 3000), page_size=64), seed=93)
    case = inputs.case
    shape = {"n_idx": case.n_kv} if op == "qsi_plan" else {"n_kv": case.n_kv, "group": case.group}
    arguments = operators.plan_args(inputs, num_cores=5, **shape)
    expected = getattr(ops, op)(**arguments)
    plan = torch.full((PLAN_WORDS,), 77, dtype=torch.int32)
    assert getattr(ops, op).out(**arguments, plan=plan) is plan
    assert torch.equal(plan, expected)


def test_coverage_plans_assume_the_most_blocks():
    """In coverage mode the lists are not known yet; a plan must still cover whatever they become."""
    inputs = builders.build(Case("coverage", seq_lens=(9000, 40), page_size=64, coverage=0.3), seed=94)
    block_ids, _ = operators.qsi(inputs)
    plan = operators.sfaa_plan(inputs, num_cores=6)
    assert PlanView(plan.numpy()).field("num_merges") > 0
    out, _ = operators.sfaa(inputs, block_ids, "float32")
    planned, _ = operators.sfaa(inputs, block_ids, "float32", plan=plan)
    np.testing.assert_allclose(planned, out, rtol=0, atol=PIECES_RELATIVE * np.abs(out).max())


def test_a_plan_may_be_stale():
    """A plan made some steps ago, or for shorter rows, divides the work badly but changes no result."""
    inputs = builders.build(Case("stale", seq_lens=(3000, 77, 1200), page_size=64), seed=95)
    block_ids, _ = operators.qsi(inputs)
    out, _ = operators.sfaa(inputs, block_ids, "float32")
    old = torch.tensor([700, 1200, 5], dtype=torch.int32)
    plan = operators.sfaa_plan(inputs, num_cores=6, seq_lens=old)
    planned, _ = operators.sfaa(inputs, block_ids, "float32", plan=plan)
    np.testing.assert_allclose(planned, out, rtol=0, atol=PIECES_RELATIVE * np.abs(out).max())
    plan = operators.qsi_plan(inputs, num_cores=6, seq_lens=old)
    np.testing.assert_array_equal(operators.qsi(inputs, plan=plan)[0], block_ids)
