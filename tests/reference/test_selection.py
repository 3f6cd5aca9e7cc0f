# SPDX-License-Identifier: Apache-2.0
"""The selection rule: hand-computed examples, properties, and a second, naive implementation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sals.reference import selection
from sals.reference.selection import SelectionParams

INF, NAN = math.inf, math.nan


def params(**changes) -> SelectionParams:
    return SelectionParams(**{"sink_blocks": 1, "tail_blocks": 2, "block_size": 16, **changes})


def naive_select(scores: list[float], visible: int, p: SelectionParams) -> list[int]:
    """The rule once more, by fractions, sorted() and plain loops."""
    total = math.ceil(Fraction(max(visible, 0), p.block_size))
    if total <= p.sink_blocks + p.tail_blocks:
        return list(range(total))
    candidates = list(range(p.sink_blocks, total - p.tail_blocks))
    score = {i: -INF if math.isnan(scores[i]) else float(np.float32(scores[i])) for i in candidates}
    ranked = sorted(candidates, key=lambda i: (-score[i], i))
    n = len(candidates)
    if p.coverage == 0:
        k = math.ceil(Fraction(n * p.keep_num, p.keep_den))
    elif p.coverage >= 1:
        k = n
    else:
        best = score[ranked[0]]
        with np.errstate(over="ignore"):
            difference = {i: 0.0 if score[i] == best else float(np.float32(score[i] - best)) for i in ranked}
        mass = [round(2**23 * math.exp(difference[i])) for i in ranked]
        share = max(Fraction(round(p.coverage * 2**20), 2**20), Fraction(1, 2**20))
        k = next((j for j in range(n) if sum(mass[:j]) >= share * sum(mass)), n)
    k = min(max(k, min(p.min_blocks, n)), p.max_blocks)
    kept = ranked[:k] if p.order == "score" else sorted(ranked[:k])
    return [*range(p.sink_blocks), *kept, *range(total - p.tail_blocks, total)]


def test_by_hand():
    # 10 blocks: sink 0, candidates 1..7, tail 8 and 9; ceil(7 / 4) = 2 are kept: 5 and, of the tied, 3.
    scores = np.array([9, 1, 0, 4, -2, 5, 4, 4, 9, 9], np.float32)
    assert selection.select(scores, 155, params()) == [0, 3, 5, 8, 9]
    assert selection.select(scores, 155, params(order="score")) == [0, 5, 3, 8, 9]
    assert selection.selected_len([0, 3, 5, 8, 9], 155, 16) == 4 * 16 + 11
    assert selection.width(155, params()) == 5


def test_coverage_by_hand():
    # Masses 1, 1/2, 1/4, 1/8 of 2^23: of the sum 15/8 the first is 8/15 = 0.533, the first two 12/15 = 0.8.
    scores = np.log(np.array([1, 1, 1 / 2, 1 / 4, 1 / 8, 1])).astype(np.float32)
    expected = {0.5: [1], 0.53: [1], 0.54: [1, 2], 0.79: [1, 2], 0.81: [1, 2, 3], 1.0: [1, 2, 3, 4]}
    for coverage, kept in expected.items():
        p = params(tail_blocks=1, coverage=coverage)
        assert selection.select(scores, 96, p) == [0, *kept, 5]


def test_smallest_coverage_is_coverage_mode():
    scores = np.zeros(40, np.float32)
    p = params(coverage=1e-9, keep_num=1, keep_den=1)
    assert p.coverage_q == 1
    assert selection.select(scores, 640, p) == [0, 1, 38, 39]


@pytest.mark.parametrize("visible", [0, -1, -100])
def test_nothing_visible_selects_nothing(visible):
    assert selection.select(np.zeros(0, np.float32), visible, params()) == []


def test_short_rows_keep_every_block_once():
    for total in range(1, 4):
        assert selection.select(np.zeros(total, np.float32), total * 16, params()) == list(range(total))


def test_nan_is_minus_infinity_and_zeros_are_equal():
    scores = np.array([0, NAN, -0.0, 0.0, -INF, -1, 0, 0], np.float32)
    assert selection.rank_candidates(scores, range(1, 6)) == [2, 3, 5, 1, 4]


def test_coverage_with_equal_infinite_scores_shares_the_mass():
    for value in (-INF, INF, NAN):
        scores = np.full(11, value, np.float32)
        assert selection.masses(scores) == [2**23] * 11
        assert selection.select(scores, 176, params(coverage=0.5)) == [0, 1, 2, 3, 4, 9, 10]


def test_no_mass_is_still_kept_at_full_coverage():
    scores = np.array([0, 0, -1000, -INF, 0, 0], np.float32)
    assert selection.select(scores, 96, params(coverage=1.0)) == [0, 1, 2, 3, 4, 5]
    assert selection.select(scores, 96, params(coverage=0.999)) == [0, 1, 4, 5]


def test_clamps_hold_in_both_modes():
    scores = np.arange(23, 0, -1).astype(np.float32)
    for mode in ({"coverage": 1e-6}, {"keep_num": 0}):
        p = params(min_blocks=5, **mode)
        assert len(selection.select(scores, 23 * 16, p)) == 8
        assert len(selection.select(scores[:6], 6 * 16, p)) == 6
    for mode in ({"coverage": 1.0}, {"keep_num": 1, "keep_den": 1}):
        assert len(selection.select(scores, 23 * 16, params(max_blocks=7, **mode))) == 10


def test_unknown_order_is_refused():
    with pytest.raises(ValueError, match="order must be one of"):
        params(order="random")


SCORES = st.one_of(
    st.floats(width=32, allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, 2.0, -INF, NAN]),
)


@st.composite
def problems(draw):
    block_size = draw(st.sampled_from([8, 16, 32, 64, 128]))
    visible = draw(st.integers(-2, 40 * block_size))
    keep_den = draw(st.integers(1, 2**20))
    max_blocks = draw(st.integers(0, 50))
    p = SelectionParams(
        block_size=block_size,
        keep_num=draw(st.integers(0, keep_den)),
        keep_den=keep_den,
        min_blocks=draw(st.integers(0, max_blocks)),
        max_blocks=max_blocks,
        coverage=draw(st.sampled_from([0.0, 0.0, 1e-9, 0.1, 0.5, 0.9, 0.999, 1.0, 2.0])),
        sink_blocks=draw(st.integers(0, 4)),
        tail_blocks=draw(st.integers(1, 8)),
        order=draw(st.sampled_from(["index", "score"])),
    )
    total = selection.num_blocks(visible, block_size)
    scores = np.array(draw(st.lists(SCORES, min_size=total, max_size=total)), np.float32)
    return scores, visible, p


@settings(deadline=None, max_examples=300)
@given(problems())
def test_agrees_with_the_naive_rule(problem):
    scores, visible, p = problem
    assert selection.select(scores, visible, p) == naive_select(scores.tolist(), visible, p)


@settings(deadline=None, max_examples=200)
@given(problems(), st.integers(0, 1000))
def test_every_row_fits_the_width(problem, longer):
    scores, visible, p = problem
    ids = selection.select(scores, visible, p)
    assert len(set(ids)) == len(ids) <= selection.width(max(visible, 0) + longer, p)


@settings(deadline=None, max_examples=200)
@given(problems())
def test_selected_len_counts_visible_tokens(problem):
    scores, visible, p = problem
    ids = selection.select(scores, visible, p)
    tokens = [t for i in ids for t in range(i * p.block_size, (i + 1) * p.block_size) if t < visible]
    assert selection.selected_len(ids, visible, p.block_size) == len(tokens)


@settings(deadline=None)
@given(st.integers(0, 2**24), st.integers(0, 2**20), st.integers(1, 2**20))
def test_budget_is_the_exact_ceiling(n, keep_num, keep_den):
    keep_num = min(keep_num, keep_den)
    p = SelectionParams(keep_num=keep_num, keep_den=keep_den, max_blocks=2**24)
    assert selection.budget(n, p) == math.ceil(Fraction(n * keep_num, keep_den))


@pytest.mark.parametrize("keep_num", range(1, 100))
def test_defect_1_rounded_ceilings(keep_num):
    """Two float ceilings, of the shape and of the kernel, disagreed and overran the row; one integer rule."""
    p = SelectionParams(keep_num=keep_num, keep_den=100, max_blocks=2**20, sink_blocks=0, tail_blocks=1)
    for n in range(0, 16384, 7):
        k = selection.budget(n, p)
        assert (k - 1) * 100 < n * keep_num <= k * 100
        assert selection.width((n + 1) * 16, p) == k + 1


def test_one_million_tokens():
    rng = np.random.default_rng(11)
    visible = 2**20 - 5
    scores = rng.standard_normal(2**16).astype(np.float32)
    p = SelectionParams(keep_num=1, keep_den=8, max_blocks=8192)
    assert selection.select(scores, visible, p) == naive_select(scores.tolist(), visible, p)
