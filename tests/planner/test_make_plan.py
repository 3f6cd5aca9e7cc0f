# SPDX-License-Identifier: Apache-2.0
"""From lengths to the work of each row, and what the planner refuses."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sals import _core
from sals._contract import MAX_CORES, PLAN_OP_QSI, PLAN_OP_SFAA
from sals.plan_view import PlanView

pytestmark = pytest.mark.sanitize

OPS = (PLAN_OP_QSI, PLAN_OP_SFAA)
KEEP_QUARTER = {"keep_num": 1, "keep_den": 4, "sink_blocks": 1, "tail_blocks": 3, "max_blocks": 100}


def work(op: int, visible: int, block_size: int = 16) -> int:
    """Tokens of a row that sees `visible` tokens, under KEEP_QUARTER."""
    blocks = ceil(max(visible, 0) / block_size)
    candidates = max(blocks - 4, 0)
    if op == PLAN_OP_QSI:
        return candidates * block_size
    kept = min(ceil(candidates / 4), 100)
    return max(visible, 0) - (candidates - kept) * block_size


def tokens_of(op: int, seq_lens: list[int], *lens: list[int] | None, **arguments) -> list[int]:
    arrays = [None if values is None else np.array(values, np.int32) for values in (seq_lens, *lens)]
    params = _core.SelectionParams(**KEEP_QUARTER)
    return _core.plan_tokens(op, *arrays, params=params, **arguments).tolist()


@pytest.mark.parametrize("op", OPS)
def test_one_row_per_request(op: int) -> None:
    seq_lens = [0, -1, 1, 16, 64, 65, 80, 10240, 100000]
    assert tokens_of(op, seq_lens) == [work(op, n) for n in seq_lens]


@pytest.mark.parametrize("op", OPS)
def test_query_tokens_see_one_token_more_each(op: int) -> None:
    expected = [work(op, n) for n in (997, 998, 999, 1000, -2, -1, 0, 1)]
    assert tokens_of(op, [1000, 1], s_q=4) == expected


@pytest.mark.parametrize("op", OPS)
def test_rows_behind_the_query_length_are_empty(op: int) -> None:
    expected = [work(op, n) for n in (999, 1000, 0, 0, 500)] + [0] * 3 + [0] * 4
    assert tokens_of(op, [1000, 500, 700], [2, 1, 0], s_q=4) == expected


@pytest.mark.parametrize("op", OPS)
def test_a_shared_list_is_the_newest_tokens(op: int) -> None:
    assert tokens_of(op, [1000, 500, 700], [2, 1, 0], s_q=4, shared_list=True) == [
        work(op, 1000),
        work(op, 500),
        0,
    ]


@pytest.mark.parametrize("op", OPS)
def test_token_axis(op: int) -> None:
    expected = [work(op, n) for n in (998, 999, 1000, 70)]
    assert tokens_of(op, [1000, 600, 70], None, [0, 3, 3, 4]) == expected


def test_coverage_mode_is_planned_for_the_most_it_can_select() -> None:
    params = _core.SelectionParams(coverage_q=1, sink_blocks=1, tail_blocks=3, max_blocks=20)
    tokens = _core.plan_tokens(PLAN_OP_SFAA, np.array([160, 1600], np.int32), params=params)
    assert tokens.tolist() == [160, (1 + 20 + 3) * 16]


@settings(deadline=None)
@given(
    op=st.sampled_from(OPS),
    seq_lens=st.lists(st.integers(-1, 20000), max_size=12),
    heads=st.integers(1, 4),
    group=st.integers(1, 20),
    s_q=st.integers(1, 4),
    is_shared=st.booleans(),
    num_cores=st.integers(1, MAX_CORES),
)
def test_a_plan_from_lengths_is_the_plan_of_their_rows(
    op: int, seq_lens: list[int], heads: int, group: int, s_q: int, is_shared: bool, num_cores: int
) -> None:
    lens = np.array(seq_lens, np.int32)
    params = _core.SelectionParams(**KEEP_QUARTER)
    arguments = {"s_q": s_q, "shared_list": is_shared, "params": params}
    made = _core.make_plan(op, lens, heads=heads, group=group, num_cores=num_cores, **arguments)
    query_rows = 1 if op == PLAN_OP_QSI else group * (s_q if is_shared else 1)
    tokens = _core.plan_tokens(op, lens, **arguments)
    of_rows = _core.plan_rows(op, num_cores=num_cores, heads=heads, tokens=tokens, query_rows=query_rows)
    assert np.array_equal(made, of_rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_cores": 65}, r"num_cores must be in \[0, 64\], got 65"),
        ({"heads": 0}, r"n_kv must be in \[1, 65536\], got 0"),
        ({"group": 0}, r"group must be in \[1, 65536\], got 0"),
        ({"s_q": 0}, r"s_q must be in \[1, 65536\], got 0"),
        ({"query_lens": [3, 1], "s_q": 2}, r"query_lens\[0\] must be in \[0, 2\], got 3"),
        ({"query_lens": [1]}, r"query_lens must have shape \[batch\] = \[2\], got \[1\]"),
        ({"query_start_loc": [0, 2, 1]}, r"query_start_loc\[1\] must be in \[0, 1\], got 2"),
        ({"query_start_loc": [1, 2, 3]}, r"query_start_loc\[0\] must be 0, got 1"),
        ({"query_start_loc": [0, 1]}, r"query_start_loc must have shape \[batch \+ 1\] = \[3\], got \[2\]"),
        ({"query_start_loc": [0, 1, 2], "shared_list": True}, "shared_list must be False"),
        ({"query_start_loc": [0, 1, 2**31 - 1]}, r"list rows .* must be in \[0, 4194304\], got"),
        ({"group": 65536, "s_q": 65536, "shared_list": True}, r"query rows .* must be in \[1, 65536\], got"),
    ],
    ids=str,
)
def test_errors(arguments: dict, message: str) -> None:
    given_arguments = {"heads": 1, "params": _core.SelectionParams(), "num_cores": 24, **arguments}
    for name in ("query_lens", "query_start_loc"):
        if name in given_arguments:
            given_arguments[name] = np.array(given_arguments[name], np.int32)
    with pytest.raises(ValueError, match=message):
        _core.make_plan(PLAN_OP_SFAA, np.array([100, 200], np.int32), **given_arguments)


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(ValueError, match="op must be PLAN_OP_QSI or PLAN_OP_SFAA, got 3"):
        _core.plan_rows(3, num_cores=1, heads=1, tokens=np.array([1]), query_rows=1)


def test_words_that_are_no_plan_are_refused() -> None:
    plan = _core.plan_rows(PLAN_OP_QSI, num_cores=4, heads=1, tokens=np.array([5000]), query_rows=1)
    for words, message in (
        (plan[:-1], r"shape \[plan_words\] = \[512\]"),
        (plan.astype(np.int64), "int32 of shape"),
        (np.zeros_like(plan), "must begin with magic"),
    ):
        with pytest.raises(ValueError, match=message):
            PlanView(words)


def test_a_view_reads_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    plan = _core.plan_rows(PLAN_OP_QSI, num_cores=4, heads=1, tokens=np.array([5000]), query_rows=1)
    assert PlanView(torch.from_numpy(plan)).cores() == PlanView(plan).cores()


def test_table() -> None:
    """Row 0 has 40 tiles for 4 cores; the last core also has the short row."""
    tokens = np.array([5120, 100])
    view = PlanView(_core.plan_rows(PLAN_OP_QSI, num_cores=4, heads=1, tokens=tokens, query_rows=1))
    lines = view.as_table(tokens).splitlines()
    assert lines[0] == "qsi plan: 2 rows, tiles of 128 tokens, 4 of 4 cores busy, rows cut: 1"
    assert lines[1].startswith("core  0") and lines[1].endswith("row 0 tiles 0 to 10")
    assert lines[4].endswith("row 0 tiles 33 to the last, row 1")
    assert lines[5] == "row 0 is merged from 4 parts, slots 0 to 3"
    assert "cycles" not in view.as_table()
