# SPDX-License-Identifier: Apache-2.0
"""The indexer on CPU: scores within the derived tolerance of float64, and the exact choice among them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import builders
import operators
from cases import CORNER, CORRECTNESS, LAYOUTS, Case
from operators import ops
from sals.reference import block_scores, select_from_scores, selection
from sals.reference.equivalence import assert_selections_equivalent
from sals.reference.int4 import pack_int4
from tolerance import assert_scores_close

EVERY_CASE = CORRECTNESS + CORNER


def params_of(case: Case) -> selection.SelectionParams:
    return selection.SelectionParams(**case.selection_args())


def by_the_rule(inputs: builders.Inputs, scores: np.ndarray):
    """Lists and lengths that the selection rule takes from the operator's own scores."""
    case = inputs.case
    return select_from_scores(
        scores, inputs.seq_lens, params_of(case), max_seq_len=case.limit, **inputs.batch_args()
    )


def assert_selection_exact(inputs: builders.Inputs, scores: np.ndarray, block_ids, selected_lens) -> None:
    """The lists are the rule's, id by id.

    In coverage mode the masses pass through an exp in float32, which moves each by at most a unit, so a
    count may differ where the mass before a candidate is within n units of the threshold.
    """
    expected_ids, expected_lens = by_the_rule(inputs, scores)
    assert block_ids.dtype == selected_lens.dtype == np.int32
    assert block_ids.shape == expected_ids.shape
    if inputs.case.coverage == 0 or np.array_equal(block_ids, expected_ids):
        np.testing.assert_array_equal(block_ids, expected_ids)
        np.testing.assert_array_equal(selected_lens, expected_lens)
        return
    scores = selection.normalise_scores(scores).astype(np.float64)
    assert_selections_equivalent(
        block_ids, expected_ids, scores, scores, inputs.seq_lens, params_of(inputs.case), ulps=0,
        **inputs.batch_args(),
    )  # fmt: skip


@pytest.mark.sanitize
@pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)
def test_scores_and_selection(case):
    inputs = builders.build(case, seed=20)
    scores = operators.block_scores(inputs)
    block_ids, selected_lens = operators.qsi(inputs)
    tensors, keywords = inputs.scores_args()
    golden = block_scores(*tensors, **keywords)
    maxima = block_scores(*tensors, **keywords, reduce=np.max)
    assert scores.dtype == np.float32 and scores.shape == golden.shape
    assert_scores_close(scores, golden, maxima, case.block_size)
    assert_selection_exact(inputs, scores, block_ids, selected_lens)
    golden_ids, _ = by_the_rule(inputs, golden)
    assert_selections_equivalent(
        block_ids, golden_ids, golden, maxima, inputs.seq_lens, params_of(case), **inputs.batch_args()
    )


def dense(length: int, seed: int, **changes) -> builders.Inputs:
    """One row in the dense layout; scores and lists are compared without the slow NumPy scores."""
    case = Case("row", **{"layout": "BSND", "seq_lens": (length,), "n_kv": 1, "group": 1, **changes})
    return builders.build(case, seed)


def check_row(inputs: builders.Inputs) -> np.ndarray:
    scores = operators.block_scores(inputs)
    block_ids, selected_lens = operators.qsi(inputs)
    assert_selection_exact(inputs, scores, block_ids, selected_lens)
    return block_ids


@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize("coverage", [0.0, 0.8])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 15, 16, 17, 511, 512, 513, 8191, 8192, 8193, 131072 + 5])
def test_any_length(length, coverage, order):
    check_row(dense(length, seed=length, coverage=coverage, order=order))


@pytest.mark.parametrize("coverage", [0.0, 0.9])
def test_a_million_tokens(coverage):
    inputs = dense(2**20 + 3, seed=1, rank=8, coverage=coverage, max_blocks=8192, tail_blocks=32)
    assert check_row(inputs).shape[-1] == 1 + 8192 + 32


@pytest.mark.slow
@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize("block_size", [8, 128])
@pytest.mark.parametrize("ties", [False, True])
def test_millions_of_tokens(ties, block_size, order):
    changes = {"block_size": block_size, "order": order, "ties": ties, "max_blocks": 8192, "rank": 8}
    check_row(dense(2**22 + 77, seed=2, **changes))


@pytest.mark.parametrize("keep", [(3, 10), (15, 100), (28, 100), (7, 8), (1, 3), (2**20 - 1, 2**20)])
@pytest.mark.parametrize("candidates", [1, 7, 99, 100, 101, 1000, 4321])
def test_keep_fractions(candidates, keep):
    length = (1 + candidates + 2) * 16 - 5
    block_ids = check_row(dense(length, seed=candidates, keep_num=keep[0], keep_den=keep[1]))
    k = min(-(-candidates * keep[0] // keep[1]), 2048)
    assert block_ids.shape[-1] == 1 + k + 2 and (block_ids >= 0).all()


@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize("max_blocks", [1, 2, 2047, 2048, 2049, 4096, 8191, 8192])
def test_any_number_of_kept_blocks(max_blocks, order):
    changes = {"keep_num": 1, "keep_den": 1, "max_blocks": max_blocks, "order": order, "rank": 8}
    block_ids = check_row(dense(8300 * 8, seed=max_blocks, block_size=8, **changes))
    assert (block_ids >= 0).sum() == 1 + max_blocks + 2


@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize("coverage", [0.0, 0.5, 1e-9, 1.0])
def test_equal_scores_go_to_the_lower_ids(coverage, order):
    inputs = dense(2000 * 16, seed=3, coverage=coverage, order=order)
    inputs.index_cache[:] = inputs.index_cache[:, :1]
    inputs.index_scale[:] = 0.125
    scores = operators.block_scores(inputs)
    assert len(np.unique(scores)) == 1
    block_ids = check_row(inputs)[0, 0, 0]
    kept = block_ids[block_ids >= 0]
    np.testing.assert_array_equal(kept[:-2], np.arange(len(kept) - 2))


def test_zero_scales_tie_everywhere():
    inputs = dense(500 * 16, seed=4)
    inputs.query_scale[:] = 0
    block_ids = check_row(inputs)[0, 0, 0]
    np.testing.assert_array_equal(block_ids[:-2], np.arange(len(block_ids) - 2))


@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize("coverage", [0.0, 0.7, 1.0])
def test_nan_counts_as_minus_infinity(coverage, order):
    """Blocks with a NaN scale score like -inf: chosen last, by lower id."""
    inputs = dense(400 * 16, seed=5, coverage=coverage, order=order, keep_num=9, keep_den=10)
    bad = np.arange(400)[np.random.default_rng(5).random(400) < 0.4]
    inputs.index_scale[0, bad * 16 + 3] = np.nan
    scores = operators.block_scores(inputs)
    assert np.isin(np.flatnonzero(~np.isfinite(scores[0, 0, 0])), bad).all()
    assert not np.isfinite(scores[0, 0, 0, bad]).any() and not np.isposinf(scores).any()
    check_row(inputs)


@pytest.mark.parametrize("coverage", [0.0, 0.5])
def test_a_row_of_nan_scores(coverage):
    inputs = dense(100 * 16, seed=6, coverage=coverage)
    inputs.query_scale[:] = np.nan
    block_ids = check_row(inputs)[0, 0, 0]
    kept = block_ids[block_ids >= 0]
    np.testing.assert_array_equal(kept[:-2], np.arange(len(kept) - 2))


@pytest.mark.parametrize("scale", [np.inf, -np.inf, 3e38])
def test_infinite_logits_choose_by_the_rule(scale):
    inputs = dense(100 * 16, seed=7)
    inputs.index_scale[0, 5 * 16] = scale
    inputs.index_scale[0, 50 * 16 : 51 * 16] = scale
    check_row(inputs)


@pytest.mark.parametrize("sink_blocks", [0, 1, 3, 50, 1 << 20])
@pytest.mark.parametrize("tail_blocks", [1, 2, 49, 1 << 20])
def test_sinks_and_tails_overlap_in_short_rows(sink_blocks, tail_blocks):
    case = Case(
        "overlap", seq_lens=(0, 1, 16, 17, 50, 96, 700, 801), sink_blocks=sink_blocks, tail_blocks=tail_blocks
    )
    inputs = builders.build(case, seed=8)
    block_ids, selected_lens = operators.qsi(inputs)
    assert_selection_exact(inputs, operators.block_scores(inputs), block_ids, selected_lens)
    for request, length in enumerate(case.seq_lens):
        if -(-length // 16) <= sink_blocks + tail_blocks:
            np.testing.assert_array_equal(selected_lens[request], length)


def test_padded_requests_select_nothing():
    inputs = builders.build(Case("padding", seq_lens=(-1, 100, 0, -(2**31), 60)), seed=9)
    block_ids, selected_lens = operators.qsi(inputs)
    scores = operators.block_scores(inputs)
    for request in (0, 2, 3):
        assert (block_ids[request] == -1).all() and not selected_lens[request].any()
        assert np.isneginf(scores[request]).all()
    assert_selection_exact(inputs, scores, block_ids, selected_lens)


def test_rows_behind_the_last_ragged_request_are_padding():
    inputs = builders.build(Case("tail", query_layout="TND", query_lens=(2, 1, 0, 3)), seed=10)
    whole = operators.qsi(inputs)
    inputs.index_query = np.concatenate([inputs.index_query, inputs.index_query[:3]])
    inputs.query_scale = np.concatenate([inputs.query_scale, inputs.query_scale[:3]])
    for plan in (None, operators.qsi_plan(inputs, num_cores=3)):
        block_ids, selected_lens = operators.qsi(inputs, plan=plan)
        np.testing.assert_array_equal(block_ids[:6], whole[0])
        assert (block_ids[6:] == -1).all() and not selected_lens[6:].any()
    assert np.isneginf(operators.block_scores(inputs)[6:]).all()


LONG_ROWS = {"seq_lens": (5000, 0, 2100, 9000, 530), "page_size": 64, "n_kv": 2, "group": 1}


@pytest.mark.parametrize(
    "changes",
    [{}, {"coverage": 0.6}, {"order": "score"}, {"s_q": 3, "query_lens": (3, 1, 0, 2, 3)}, {"ties": True}],
    ids=["budget", "coverage", "score", "mtp", "ties"],
)
def test_a_plan_for_any_number_of_cores_changes_nothing(changes):
    inputs = builders.build(Case("planned", **LONG_ROWS, **changes), seed=11)
    expected = operators.qsi(inputs)
    for num_cores in range(1, 65):
        planned = operators.qsi(inputs, plan=operators.qsi_plan(inputs, num_cores=num_cores))
        for one, other in zip(planned, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"num_cores={num_cores}")


@pytest.mark.parametrize("planned", [False, True])
def test_thread_count_changes_nothing(planned):
    inputs = builders.build(Case("threads", **LONG_ROWS, coverage=0.6), seed=12)
    plan = operators.qsi_plan(inputs, num_cores=5) if planned else None
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append((*operators.qsi(inputs, plan=plan), operators.block_scores(inputs)))
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_batch_slices_and_page_places_change_nothing():
    inputs = builders.build(Case("slices", **LONG_ROWS, s_q=2), seed=13)
    expected = (*operators.qsi(inputs), operators.block_scores(inputs))
    moved = operators.permute_pages(inputs, seed=14)
    for a, b in zip(expected, (*operators.qsi(moved), operators.block_scores(moved)), strict=True):
        np.testing.assert_array_equal(a, b)
    for request in range(inputs.case.batch):
        one = operators.request_slice(inputs, request)
        for a, b in zip(expected, (*operators.qsi(one), operators.block_scores(one)), strict=True):
            np.testing.assert_array_equal(a[request : request + 1], b)


def test_out_forms_write_every_element():
    inputs = builders.build(Case("out"), seed=15)
    expected = operators.qsi(inputs)
    block_ids, selected_lens = (torch.full(a.shape, 77, dtype=torch.int32) for a in expected)
    returned = ops.qsi.out(**operators.qsi_call(inputs), block_ids=block_ids, selected_lens=selected_lens)
    assert returned[0] is block_ids and returned[1] is selected_lens
    np.testing.assert_array_equal(block_ids.numpy(), expected[0])
    np.testing.assert_array_equal(selected_lens.numpy(), expected[1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strided_arguments(layout):
    """Everything but the caches may be strided; the values count, not the memory."""
    inputs = builders.build(Case("strided", layout=layout, s_q=2), seed=16)
    call = operators.qsi_call(inputs)
    for name in ("query", "query_scale", "seq_lens", "block_table"):
        if call[name] is not None:
            wide = torch.full((*call[name].shape, 3), 1 << 20, dtype=call[name].dtype)
            wide[..., 1] = call[name]
            call[name] = wide[..., 1]
            assert not call[name].is_contiguous()
    expected = operators.qsi(inputs)
    for a, b in zip(ops.qsi(**call), expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b)


def test_scores_by_hand():
    """Dots 6, 2, 0 with scales make logits 6, 3, 0; the second block holds one token of logit 0."""
    query = torch.from_numpy(pack_int4(np.array([2, 1, 0, 0, 0, 0, 0, 0])).reshape(1, 1, 1, 1))
    keys = np.zeros((1, 9, 1, 8), int)
    keys[0, 0, 0, :3] = [3, 0, -8]
    keys[0, 1, 0, 0] = 1
    scale = torch.ones(1, 9, 1)
    scale[0, 1] = 1.5
    scores = ops.block_scores(
        query, torch.ones(1, 1, 1), torch.from_numpy(pack_int4(keys)), scale, torch.tensor([9]).int(),
        max_seq_len=24, block_size=8, layout="BSND",
    )  # fmt: skip
    expected = [np.log(np.exp(6) + np.exp(3) + 6), 0.0, -np.inf]
    np.testing.assert_allclose(scores[0, 0, 0].numpy(), expected, rtol=1e-6)
