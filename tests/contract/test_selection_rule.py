# SPDX-License-Identifier: Apache-2.0
"""The selection rule in C++ against Python's integers and fractions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sals import _core
from sals._contract import COVERAGE_ONE, MAX_KEEP_DEN, MAX_SELECTED_BLOCKS, MAX_SEQ_LEN

pytestmark = pytest.mark.sanitize

KEEPS = tuple(
    Fraction(text)
    for text in ("0", "1", "3/10", "15/100", "28/100", "7/8", "1/4", "1/3", "65/100", "85/100", "1/1048576")
)


def ceil_of(n: int, keep: Fraction) -> int:
    return ceil(n * keep)


@pytest.mark.parametrize("keep", KEEPS, ids=str)
def test_budget_at_every_block_count(keep: Fraction) -> None:
    params = _core.SelectionParams(
        keep_num=keep.numerator, keep_den=keep.denominator, max_blocks=MAX_SELECTED_BLOCKS
    )
    n = np.arange(16385)
    expected = [min(ceil_of(int(count), keep), MAX_SELECTED_BLOCKS) for count in n]
    assert _core.budget_blocks(n, params).tolist() == expected


def test_an_unreduced_fraction_is_the_same_budget() -> None:
    n = np.arange(16385)
    reduced, scaled = (
        _core.SelectionParams(keep_num=3 * by, keep_den=10 * by, max_blocks=MAX_SELECTED_BLOCKS)
        for by in (1, 100000)
    )
    assert np.array_equal(_core.budget_blocks(n, reduced), _core.budget_blocks(n, scaled))


@settings(deadline=None)
@given(
    n=st.integers(0, MAX_SEQ_LEN),
    keep_den=st.integers(1, MAX_KEEP_DEN),
    keep_share=st.fractions(0, 1),
    max_blocks=st.integers(0, MAX_SELECTED_BLOCKS),
    min_share=st.fractions(0, 1),
)
def test_budget_with_any_limits(
    n: int, keep_den: int, keep_share: Fraction, max_blocks: int, min_share: Fraction
) -> None:
    keep_num = round(keep_den * keep_share)
    min_blocks = round(max_blocks * min_share)
    params = _core.SelectionParams(
        keep_num=keep_num, keep_den=keep_den, min_blocks=min_blocks, max_blocks=max_blocks
    )
    k = _core.budget_blocks(n, params)
    assert k == min(max(ceil_of(n, Fraction(keep_num, keep_den)), min(min_blocks, n)), max_blocks)
    assert min(min_blocks, n) <= k <= min(n, max_blocks)


lengths = st.one_of(st.integers(-5, 3000), st.integers(0, MAX_SEQ_LEN))
params_strategy = st.builds(
    dict,
    block_size=st.sampled_from((8, 16, 32, 64, 128)),
    keep_num=st.integers(0, 10),
    keep_den=st.just(10),
    max_blocks=st.integers(0, MAX_SELECTED_BLOCKS),
    coverage_q=st.sampled_from((0, 1, COVERAGE_ONE)),
    sink_blocks=st.integers(0, 40),
    tail_blocks=st.integers(1, 40),
)


@settings(deadline=None)
@given(visible=lengths, arguments=params_strategy)
def test_candidates_lie_between_sinks_and_tail(visible: int, arguments: dict) -> None:
    params = _core.SelectionParams(**arguments)
    blocks = list(range(ceil(max(visible, 0) / arguments["block_size"])))
    sinks, tail = arguments["sink_blocks"], arguments["tail_blocks"]
    between = blocks[sinks : max(len(blocks) - tail, 0)]
    begin, end = _core.candidate_blocks(visible, params)
    assert list(range(begin, end)) == between
    assert _core.num_blocks(visible, arguments["block_size"]) == len(blocks)


@settings(deadline=None)
@given(max_seq_len=st.integers(0, MAX_SEQ_LEN), arguments=params_strategy)
def test_list_width(max_seq_len: int, arguments: dict) -> None:
    params = _core.SelectionParams(**arguments)
    blocks = ceil(max_seq_len / arguments["block_size"])
    sinks, tail = arguments["sink_blocks"], arguments["tail_blocks"]
    n_max = max(blocks - sinks - tail, 0)
    keep = Fraction(arguments["keep_num"], arguments["keep_den"])
    k_max = min(n_max if arguments["coverage_q"] else ceil_of(n_max, keep), arguments["max_blocks"])
    assert _core.list_width(max_seq_len, params) == min(sinks + k_max + tail, blocks)


@settings(deadline=None)
@given(visible=lengths, arguments=params_strategy, share=st.fractions(0, 1))
def test_selected_tokens_are_those_of_the_kept_blocks(visible: int, arguments: dict, share: Fraction) -> None:
    params = _core.SelectionParams(**arguments)
    begin, end = _core.candidate_blocks(visible, params)
    k = round((end - begin) * share)
    size = arguments["block_size"]
    blocks = ceil(max(visible, 0) / size)
    # Candidates are full blocks: the tail, never empty, holds the partial one. So any k of them will do.
    dropped = (end - begin) - k
    assert _core.selected_blocks(visible, k, params) == blocks - dropped
    assert _core.selected_tokens(visible, k, params) == max(visible, 0) - dropped * size


@settings(deadline=None)
@given(max_seq_len=st.integers(0, 100000), shorter_by=st.integers(0, 100000), arguments=params_strategy)
def test_no_row_needs_more_columns_than_the_width(max_seq_len: int, shorter_by: int, arguments: dict) -> None:
    params = _core.SelectionParams(**arguments)
    visible = max(max_seq_len - shorter_by, 0)
    begin, end = _core.candidate_blocks(visible, params)
    k = _core.max_selected_candidates(end - begin, params)
    assert _core.selected_blocks(visible, k, params) <= _core.list_width(max_seq_len, params)


@settings(deadline=None)
@given(seq_len=st.integers(-1, 10000), q_len=st.integers(0, 12), s_q=st.integers(1, 12))
def test_visible_tokens(seq_len: int, q_len: int, s_q: int) -> None:
    s = np.arange(s_q)
    expected = [max(seq_len - q_len + 1 + i, 0) if i < q_len else 0 for i in range(s_q)]
    assert _core.visible_tokens(seq_len, q_len, s).tolist() == expected


def test_quantized_coverage_rounds_half_to_even() -> None:
    for sixteenth in range(17):
        assert _core.quantize_coverage(sixteenth / 16) == sixteenth * COVERAGE_ONE // 16
    halves = [(2 * i + 1) / (2 * COVERAGE_ONE) for i in range(4)]
    assert [_core.quantize_coverage(half) for half in halves] == [0, 2, 2, 4]


SPECIAL_SCORES = np.array(
    [-np.inf, np.finfo(np.float32).min, -1.0, -np.finfo(np.float32).tiny, -1e-45, -0.0, 0.0, 1e-45, 1.0]
    + [np.nextafter(np.float32(1), np.float32(2)), np.finfo(np.float32).max, np.inf],
    dtype=np.float32,
)


def test_order_key_of_special_scores() -> None:
    keys = _core.order_key(SPECIAL_SCORES).astype(np.int64)
    zeros = slice(5, 7)  # -0.0 and +0.0
    assert keys[5] == keys[6]
    assert np.all(np.diff(np.delete(keys, zeros.start)) > 0)


def test_nan_of_either_sign_counts_as_minus_infinity() -> None:
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32)
    keys = _core.order_key(bits.view(np.float32))
    assert np.all(keys == _core.order_key(np.float32(-np.inf)))


@settings(deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=50))
def test_order_key_orders_as_floats_do(values: list[float]) -> None:
    scores = np.array(values, np.float32)
    keys = _core.order_key(scores)
    assert np.array_equal(keys[:, None] < keys, scores[:, None] < scores)
    assert np.array_equal(keys[:, None] == keys, scores[:, None] == scores)
