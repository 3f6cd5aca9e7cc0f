# SPDX-License-Identifier: Apache-2.0
"""Every plan, for any rows and any number of cores, covers all work exactly once and says who merges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.problems import TILE_TOKENS
from sals import _core
from sals._contract import MAX_CORES, MERGE_SLICE_ROWS, PLAN_OP_QSI, PLAN_OP_SFAA, SFAA_TILE_TOKENS
from sals.plan_view import Merge, PlanView

pytestmark = pytest.mark.sanitize

OPS = (PLAN_OP_QSI, PLAN_OP_SFAA)


def plan_rows(op: int, num_cores: int, heads: int, tokens: list[int], query_rows: int = 1) -> PlanView:
    words = _core.plan_rows(
        op, num_cores=num_cores, heads=heads, tokens=np.array(tokens, np.int64), query_rows=query_rows
    )
    _core.validate_plan(words, op, len(tokens) * heads)
    return PlanView(words)


def check_cover(plan: PlanView, op: int, heads: int, tokens: list[int]) -> None:
    """All pieces in core order are the tiles of all rows in order; a cut leaves tiles on both sides."""
    expected = [(row, -(-tokens[row // heads] // TILE_TOKENS[op])) for row in range(len(tokens) * heads)]
    parts: dict[int, list[tuple[int, int, int | None]]] = {}
    rows_seen = []
    slots = []
    for core in plan.cores():
        for piece in core:
            if piece.row not in parts:
                rows_seen.append(piece.row)
            end = dict(expected)[piece.row] if piece.tile_end is None else piece.tile_end
            parts.setdefault(piece.row, []).append((piece.tile_begin, end, piece.slot))
            slots += [] if piece.slot is None else [piece.slot]
    assert rows_seen == [row for row, _ in expected]
    assert slots == list(range(len(slots)))
    merges = []
    for row, tiles in expected:
        pieces = parts[row]
        assert [begin for begin, _, _ in pieces] == [0, *(end for _, end, _ in pieces[:-1])]
        assert pieces[-1][1] == tiles
        if len(pieces) == 1:
            assert pieces[0][2] is None
        else:
            assert all(begin < end for begin, end, _ in pieces)
            merges.append(Merge(row, pieces[0][2], len(pieces)))
    assert plan.merges() == merges


def check_merge_units(plan: PlanView, query_rows: int) -> None:
    slices = -(-query_rows // MERGE_SLICE_ROWS)
    units = [unit for core in plan.merge_units() for unit in core]
    assert units == [(merge, part) for merge in range(len(plan.merges())) for part in range(slices)]
    loads = [sum(plan.merges()[merge].num_parts for merge, _ in core) for core in plan.merge_units()]
    if units:
        largest = max(merge.num_parts for merge in plan.merges())
        # One unit more than the mean is the most that a division in order can need.
        assert max(loads) <= -(-sum(loads) // len(loads)) + largest - 1


def check(op: int, num_cores: int, heads: int, tokens: list[int], query_rows: int) -> None:
    plan = plan_rows(op, num_cores, heads, tokens, query_rows)
    boundaries = plan.boundaries()
    assert boundaries == sorted(boundaries)
    assert (boundaries[0], boundaries[-1]) == ((0, 0), (len(tokens) * heads, 0))
    assert plan.num_cores == num_cores and plan.num_rows == len(tokens) * heads
    check_cover(plan, op, heads, tokens)
    check_merge_units(plan, query_rows)
    busy = [any(tokens[piece.row // heads] > 0 for piece in core) for core in plan.cores()]
    assert plan.used_cores == sum(busy)
    assert len(plan.merges()) < num_cores


@settings(max_examples=300, deadline=None)
@given(
    op=st.sampled_from(OPS),
    num_cores=st.integers(1, MAX_CORES),
    heads=st.integers(1, 5),
    tokens=st.lists(st.one_of(st.integers(0, 3), st.integers(0, 1200), st.integers(0, 60000)), max_size=24),
    query_rows=st.sampled_from((1, 4, 8, 9, 40, 100)),
)
def test_any_plan(op: int, num_cores: int, heads: int, tokens: list[int], query_rows: int) -> None:
    check(op, num_cores, heads, tokens, query_rows)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("num_cores", range(1, MAX_CORES + 1))
@pytest.mark.parametrize("tokens", [[], [0], [1], [0, 0, 0], [40000], [129, 0, 70000, 5]], ids=str)
def test_any_core_count(op: int, num_cores: int, tokens: list[int]) -> None:
    check(op, num_cores, heads=2, tokens=tokens, query_rows=8)


def test_equal_rows_that_fit_are_not_cut() -> None:
    plan = plan_rows(PLAN_OP_SFAA, 24, 2, [2960] * 84, query_rows=8)
    assert plan.merges() == []
    assert {len(core) for core in plan.cores()} == {7}


@pytest.mark.parametrize(
    ("tiles", "num_cores", "cut_rows"),
    [
        # Ten tiles a core. The third core ends row 0 with 8 and has room for one of row 1, but the fourth
        # has room for all of row 1.
        ([28, 4, 5], 4, [0]),
        # The same, where the room of the fourth core depends on where the fifth begins in row 2.
        ([28, 4, 15], 5, [0, 2]),
    ],
    ids=str,
)
def test_a_row_is_not_cut_when_the_next_core_has_room(
    tiles: list[int], num_cores: int, cut_rows: list[int]
) -> None:
    plan = plan_rows(PLAN_OP_SFAA, num_cores, 1, [SFAA_TILE_TOKENS * n for n in tiles], query_rows=8)
    assert [merge.row for merge in plan.merges()] == cut_rows


def test_a_small_gain_does_not_pay_a_merge() -> None:
    """Two cores, three tiles and two: cutting would save half a tile and cost a meeting of all cores."""
    assert plan_rows(PLAN_OP_SFAA, 2, 1, [384, 256]).merges() == []


def test_empty_rows_are_spread_over_the_cores() -> None:
    plan = plan_rows(PLAN_OP_QSI, 24, 8, [0] * 48)
    assert {len(core) for core in plan.cores()} == {16}
    assert plan.used_cores == 0


def test_the_plan_depends_on_its_arguments_alone() -> None:
    tokens = [int(n) for n in np.random.default_rng(5).integers(0, 30000, 50)]
    words = [plan_rows(PLAN_OP_SFAA, 20, 4, tokens, 8).words for _ in range(3)]
    assert all(np.array_equal(words[0], other) for other in words[1:])
