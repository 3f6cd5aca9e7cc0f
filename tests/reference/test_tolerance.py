# SPDX-License-Identifier: Apache-2.0
"""The comparisons of `tolerance` and `sals.reference.equivalence`: what they accept and what they reject."""

from __future__ import annotations

import numpy as np
import pytest

import builders
from cases import Case
from sals.reference import qsi
from sals.reference.equivalence import DisagreementError, QsiGolden, assert_selection_equivalent
from sals.reference.selection import SelectionParams
from tolerance import assert_lse_close, assert_output_close, assert_scores_close

STEP = float(np.spacing(np.float32(8.0)))  # an ulp of scores between 8 and 16
SCORES = np.array([0, 9, 9 + 3 * STEP, 9 + 30 * STEP, 8.5, 8.5, 0, 0])
MAXIMA = np.zeros(8)


def params(**changes) -> SelectionParams:
    return SelectionParams(**{"sink_blocks": 1, "tail_blocks": 2, "keep_num": 2, "keep_den": 5, **changes})


def differing(a, b, **changes) -> int:
    return assert_selection_equivalent(np.array(a), np.array(b), SCORES, MAXIMA, 128, params(**changes))


def test_equal_lists_differ_nowhere():
    assert differing([0, 2, 3, 6, 7], [0, 2, 3, 6, 7]) == 0


def test_near_ties_may_swap():
    assert differing([0, 2, 3, 6, 7], [0, 1, 3, 6, 7]) == 1
    assert differing([0, 3, 2, 1, 6, 7], [0, 3, 1, 2, 6, 7], keep_num=3, order="score") == 2


def test_exact_ties_may_not_hide_a_wrong_set():
    with pytest.raises(AssertionError, match="blocks 3 and 1 are swapped"):
        differing([0, 2, 3, 6, 7], [0, 1, 2, 6, 7])
    with pytest.raises(AssertionError, match="are swapped"):
        differing([0, 3, 2, 6, 7], [0, 2, 3, 6, 7], order="score")


def test_equal_scores_go_to_the_lower_id():
    """Blocks 4 and 5 have the same score."""
    assert differing([0, 3, 4, 6, 7], [0, 3, 4, 6, 7]) == 0
    with pytest.raises(AssertionError, match="block 5 is kept instead of 4"):
        differing([0, 3, 4, 6, 7], [0, 3, 5, 6, 7])
    with pytest.raises(AssertionError, match="blocks 5 and 4 of equal scores are in the wrong order"):
        differing([0, 4, 5, 6, 7], [0, 5, 4, 6, 7], order="score")


def test_no_difference_is_allowed_between_lists_of_the_same_scores():
    with pytest.raises(AssertionError, match="more than 0"):
        assert_selection_equivalent(
            np.array([0, 2, 3, 6, 7]), np.array([0, 1, 3, 6, 7]), SCORES, MAXIMA, 128, params(), ulps=0
        )


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([0, -1, 2, 3, 6, 7], "-1 stands before a block"),
        ([0, 3, 3, 6, 7], "listed twice"),
        ([0, 2, 3, 6, 8], "outside"),
        ([0, 3, 2, 6, 7], "not in order"),
        ([2, 3, 6, 7], "not in order"),
        ([0, 2, 6, 7], "kept 2 and 1 candidates"),
    ],
)
def test_malformed_rows_are_rejected(ids, message):
    with pytest.raises(AssertionError, match=message):
        differing([0, 2, 3, 6, 7], ids)


def test_coverage_counts_may_differ_at_the_threshold_only():
    """Five equal masses: the mass before the third candidate is 2/5."""
    scores = np.array([0, 3, 3, 3, 3, 3, 0, 0], float)
    two, three = np.array([0, 1, 2, 6, 7, -1]), np.array([0, 1, 2, 3, 6, 7])
    assert assert_selection_equivalent(two, three, scores, MAXIMA, 128, params(coverage=0.4)) == 1
    with pytest.raises(AssertionError, match="the mass before candidate 2 is off"):
        assert_selection_equivalent(two, three, scores, MAXIMA, 128, params(coverage=0.5))


def test_score_tolerance_is_a_few_ulp():
    golden = np.array([[9.0, -np.inf]])
    maxima = np.array([[8.0, -np.inf]])
    assert_scores_close((golden + 4 * STEP).astype(np.float32), golden, maxima, 16)
    with pytest.raises(AssertionError, match="block score at"):
        assert_scores_close((golden + 6 * STEP).astype(np.float32), golden, maxima, 16)
    with pytest.raises(AssertionError):
        assert_scores_close(np.array([[9.0, 0.0]], np.float32), golden, maxima, 16)


def test_outputs_and_lse():
    golden = np.linspace(-1, 1, 64).reshape(4, 16)
    assert_output_close(golden * (1 + 1e-3), golden, "bfloat16")
    for wrong in (golden * 1.05, golden[::-1], np.full_like(golden, np.nan)):
        with pytest.raises(AssertionError):
            assert_output_close(wrong, golden, "bfloat16")
    lse = np.array([1.0, -np.inf])
    assert_lse_close(lse + 1e-5, lse, 5.0)
    for wrong in (lse + 1e-2, np.array([1.0, 0.0]), np.array([-np.inf, -np.inf])):
        with pytest.raises(AssertionError):
            assert_lse_close(wrong, lse, 5.0)


def test_the_golden_indexer_accepts_its_own_lists_only():
    tensors, keywords = builders.build(Case("golden", seq_lens=(700, 0), s_q=2), seed=3).qsi_args()
    golden = QsiGolden(*tensors, **keywords)
    block_ids, selected_lens = qsi(*tensors, **keywords)
    assert golden.check(block_ids, selected_lens) == 0
    moved = block_ids.copy()
    moved[0, 1, 0, 1] += 1
    longer = selected_lens.copy()
    longer[1, 0, 1] += 1
    for wrong in ((moved, selected_lens), (block_ids, longer), (block_ids[..., 1:], selected_lens)):
        with pytest.raises(DisagreementError):
            golden.check(*wrong)
