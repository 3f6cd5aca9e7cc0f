# SPDX-License-Identifier: Apache-2.0
"""Reading plans: pieces, and results that follow a plan. The plans here are made by hand or at random."""

from __future__ import annotations

import numpy as np
import pytest

import builders
from cases import CORRECTNESS, Case
from sals._contract import (
    PLAN_FIELDS,
    PLAN_MAGIC,
    PLAN_VERSION,
    PLAN_WORDS,
    QSI_TILE_TOKENS,
    SFAA_TILE_TOKENS,
)
from sals.reference import block_scores, qsi, select_from_scores, selection, sfaa_two_term
from sals.reference.plan import Merge, Piece, PlanView, covered_scores, sfaa_by_plan
from tolerance import PIECES_RELATIVE, PIECES_ROUNDING


def make_plan(boundaries: list[tuple[int, int]], merges: tuple[Merge, ...] = ()) -> np.ndarray:
    """Words of a plan whose cores meet at (row, tile) boundaries, the first and the last included."""
    words = np.zeros(PLAN_WORDS, np.int32)

    def put(name: str, *values: int) -> None:
        first = PLAN_FIELDS[name][0]
        words[first : first + len(values)] = values

    put("magic", PLAN_MAGIC)
    put("version", PLAN_VERSION)
    put("num_cores", len(boundaries) - 1)
    put("num_merges", len(merges))
    put("row_begin", *(row for row, _ in boundaries))
    put("tile_begin", *(tile for _, tile in boundaries))
    put("merge_row", *(merge.row for merge in merges))
    put("merge_first_slot", *(merge.first_slot for merge in merges))
    put("merge_num_parts", *(merge.num_parts for merge in merges))
    return words


def random_plan(tiles: list[int], num_cores: int, rng: np.random.Generator) -> np.ndarray:
    """Cut the tiles of all rows at random places."""
    places = [(row, tile) for row, count in enumerate(tiles) for tile in range(max(count, 1))]
    cuts = sorted(places[i] for i in rng.integers(0, len(places), num_cores - 1))
    return make_plan([(0, 0), *cuts, (len(tiles), 0)])


def test_pieces_by_hand():
    """Row 0 whole; row 1 in three parts on cores 0 to 2; core 3 idle; row 2 in two parts; row 3 whole."""
    merges = (Merge(row=1, first_slot=0, num_parts=3), Merge(row=2, first_slot=3, num_parts=2))
    view = PlanView(make_plan([(0, 0), (1, 2), (1, 5), (2, 1), (2, 1), (4, 0)], merges))
    assert list(view.pieces()) == [
        Piece(core=0, row=0, tile_begin=0, tile_end=None, slot=None),
        Piece(core=0, row=1, tile_begin=0, tile_end=2, slot=0),
        Piece(core=1, row=1, tile_begin=2, tile_end=5, slot=1),
        Piece(core=2, row=1, tile_begin=5, tile_end=None, slot=2),
        Piece(core=2, row=2, tile_begin=0, tile_end=1, slot=3),
        Piece(core=4, row=2, tile_begin=1, tile_end=None, slot=4),
        Piece(core=4, row=3, tile_begin=0, tile_end=None, slot=None),
    ]
    assert view.merges() == list(merges)


def test_a_row_is_read_whole_whatever_length_the_plan_assumed():
    view = PlanView(make_plan([(0, 0), (0, 2), (0, 5), (1, 0)]))
    assert view.row_pieces(0, 9) == [(0, 2), (2, 5), (5, 9)]
    assert view.row_pieces(0, 5) == [(0, 2), (2, 5)]
    assert view.row_pieces(0, 1) == [(0, 1)]
    assert view.row_pieces(0, 0) == []


def test_every_tile_is_in_one_piece():
    rng = np.random.default_rng(21)
    for num_cores in (1, 2, 7, 24):
        tiles = rng.integers(0, 9, 12).tolist()
        view = PlanView(random_plan(tiles, num_cores, rng))
        for row, count in enumerate(tiles):
            assert [t for begin, end in view.row_pieces(row, count) for t in range(begin, end)] == list(
                range(count)
            )
        slots = [piece.slot for piece in view.pieces() if piece.slot is not None]
        assert slots == list(range(len(slots)))


def test_what_is_not_a_plan_is_refused():
    with pytest.raises(ValueError, match="not a plan"):
        PlanView(np.zeros(PLAN_WORDS, np.int32))
    words = make_plan([(0, 0), (1, 0)])
    with pytest.raises(ValueError, match="not a plan"):
        PlanView(words[:-1])
    words[PLAN_FIELDS["version"][0]] += 1
    with pytest.raises(ValueError, match="plan must have version"):
        PlanView(words)


PLANNED = tuple(
    case.but(tail_blocks=1, keep_num=3, seq_lens=tuple(5 * length for length in case.seq_lens))
    for case in CORRECTNESS
    if case.name in ("static-PA_NZ", "per-token-BSND", "mtp-shared-ragged-rows", "tnd", "block-128")
)


@pytest.mark.parametrize("num_cores", [1, 3, 20])
@pytest.mark.parametrize("case", PLANNED, ids=lambda case: case.name)
def test_attention_by_plan(case, num_cores):
    inputs = builders.build(case, seed=22)
    tensors, keywords = inputs.qsi_args()
    block_ids, lens = qsi(*tensors, **keywords)
    list_rows = int(np.prod(block_ids.shape[:-1]))
    tiles = [-(-block_ids.shape[-1] * case.block_size // SFAA_TILE_TOKENS)] * list_rows
    plan = random_plan(tiles, num_cores, np.random.default_rng(num_cores))
    tensors, keywords = inputs.sfaa_args(block_ids, lens)
    planned, planned_lse = sfaa_by_plan(plan, *tensors, **keywords)
    plain, plain_lse = sfaa_two_term(*tensors, **keywords)
    np.testing.assert_allclose(planned, plain, rtol=0, atol=PIECES_RELATIVE * np.abs(plain).max())
    np.testing.assert_allclose(planned_lse, plain_lse, rtol=PIECES_ROUNDING)


@pytest.mark.parametrize("num_cores", [1, 3, 20])
@pytest.mark.parametrize("case", PLANNED, ids=lambda case: case.name)
def test_selection_by_plan(case, num_cores):
    inputs = builders.build(case, seed=23)
    params = selection.SelectionParams(**case.selection_args())
    tensors, keywords = inputs.scores_args()
    scores = block_scores(*tensors, **keywords, dtype=np.float32)
    tiles_at_most = -(-scores.shape[-1] * case.block_size // QSI_TILE_TOKENS)
    list_rows = int(np.prod(scores.shape[:-1]))
    plan = random_plan([tiles_at_most] * list_rows, num_cores, np.random.default_rng(num_cores))
    batch = inputs.batch_args()
    covered = covered_scores(plan, scores, inputs.seq_lens, params, **batch)
    limit = {"max_seq_len": case.limit}
    planned = select_from_scores(covered, inputs.seq_lens, params, **limit, **batch)
    plain = select_from_scores(scores, inputs.seq_lens, params, **limit, **batch)
    for one, other in zip(planned, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_scores_outside_the_plan_are_missing():
    case = Case("covered", seq_lens=(333,), n_kv=1, tail_blocks=2)
    inputs = builders.build(case, seed=24)
    params = selection.SelectionParams(**case.selection_args())
    tensors, keywords = inputs.scores_args()
    scores = block_scores(*tensors, **keywords, dtype=np.float32)
    covered = covered_scores(make_plan([(0, 0), (1, 0)]), scores, inputs.seq_lens, params)
    assert np.flatnonzero(np.isfinite(covered)).tolist() == list(range(1, 19))
    nothing = covered_scores(make_plan([(0, 0), (0, 0)]), scores, inputs.seq_lens, params)
    assert np.isnan(nothing).all()
