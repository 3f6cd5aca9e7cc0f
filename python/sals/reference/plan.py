# SPDX-License-Identifier: Apache-2.0
"""Reading a plan: which core works on which tiles of which row, and what follows from it.

A plan divides the tiles of all rows, in row order, over cores: core i works from boundary i up to boundary
i + 1, a boundary being (row, tile in that row). A row cut by a boundary has parts, which merge in order. A
plan divides work and changes no result: a row's last piece runs to the end of the row, whatever length the
plan was made for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sals._contract import PLAN_FIELDS, PLAN_MAGIC, PLAN_VERSION, PLAN_WORDS, QSI_TILE_TOKENS
from sals.reference import rows, selection
from sals.reference.sfaa import sfaa_two_term


@dataclass(frozen=True)
class Piece:
    """Tiles of one row on one core.

    tile_end : exclusive, or None for a piece that runs to the end of its row
    slot : place of this part of a cut row among all parts, or None for a row that one core handles whole
    """

    core: int
    row: int
    tile_begin: int
    tile_end: int | None
    slot: int | None


@dataclass(frozen=True)
class Merge:
    """One cut row: its parts are in the slots first_slot ... first_slot + num_parts - 1."""

    row: int
    first_slot: int
    num_parts: int


class PlanView:
    """The words of a plan tensor, by name."""

    def __init__(self, words: np.ndarray) -> None:
        self._words = [int(word) for word in words]
        if len(self._words) != PLAN_WORDS or self.field("magic") != PLAN_MAGIC:
            raise ValueError(f"not a plan: {len(self._words)} words that begin with {self._words[:1]}")
        if self.field("version") != PLAN_VERSION:
            raise ValueError(f"plan must have version {PLAN_VERSION}, got {self.field('version')}")

    def field(self, name: str, index: int = 0) -> int:
        """Read element `index` of a field of the plan, named as in ``include/sals/plan.h``."""
        first, count = PLAN_FIELDS[name]
        if not 0 <= index < count:
            raise IndexError(f"{name} has {count} words, got index {index}")
        return self._words[first + index]

    def boundary(self, core: int) -> tuple[int, int]:
        """Row and tile at which `core` starts and the core before it stops."""
        return self.field("row_begin", core), self.field("tile_begin", core)

    def pieces(self) -> Iterator[Piece]:
        """Walk all pieces in core order, which is also row and tile order."""
        slot = 0
        for core in range(self.field("num_cores")):
            row, tile = self.boundary(core)
            last = self.boundary(core + 1)
            while (row, tile) < last:
                is_last = row == last[0]
                is_part = tile > 0 or is_last
                yield Piece(core, row, tile, last[1] if is_last else None, slot if is_part else None)
                slot += is_part
                row, tile = row + 1, 0

    def merges(self) -> list[Merge]:
        """List the cut rows as the plan states them."""
        names = ("merge_row", "merge_first_slot", "merge_num_parts")
        return [Merge(*(self.field(name, i) for name in names)) for i in range(self.field("num_merges"))]

    def row_pieces(self, row: int, num_tiles: int) -> list[tuple[int, int]]:
        """Half-open tile ranges into which the plan cuts a row that really has `num_tiles` tiles."""
        cuts = {piece.tile_begin for piece in self.pieces() if piece.row == row}
        starts = sorted(cut for cut in cuts if cut < num_tiles)
        return list(zip(starts, [*starts, num_tiles][1:], strict=True))


def sfaa_by_plan(plan: np.ndarray, *tensors: np.ndarray | None, **arguments: Any) -> tuple[Any, Any]:
    """Attend piece by piece as a plan says; arguments and results as `sfaa_two_term`."""
    return sfaa_two_term(*tensors, pieces=PlanView(plan).row_pieces, **arguments)  # type: ignore[arg-type]


def covered_scores(
    plan: np.ndarray,
    scores: np.ndarray,
    seq_lens: np.ndarray,
    params: selection.SelectionParams,
    *,
    query_lens: np.ndarray | None = None,
    query_start_loc: np.ndarray | None = None,
    query_layout: str = "BSND",
) -> np.ndarray:
    """Keep the candidate scores that the pieces of a plan cover, NaN elsewhere.

    Selecting from the result equals selecting from `scores`, because sinks and tail are kept unscored.
    """
    view = PlanView(plan)
    flat = rows.flatten_tokens(scores, query_layout)
    covered = np.full_like(flat, np.nan)
    tile_blocks = QSI_TILE_TOKENS // params.block_size
    list_s_q = scores.shape[1] if query_layout == "BSND" else None
    for token, _, visible in rows.list_tokens(
        seq_lens, list_s_q=list_s_q, query_lens=query_lens, query_start_loc=query_start_loc
    ):
        candidates = selection.candidate_range(selection.num_blocks(visible, params.block_size), params)
        num_tiles = -(-len(candidates) // tile_blocks)
        for head in range(flat.shape[1]):
            for begin, end in view.row_pieces(token * flat.shape[1] + head, num_tiles):
                blocks = candidates[begin * tile_blocks : end * tile_blocks]
                covered[token, head, blocks.start : blocks.stop] = flat[
                    token, head, blocks.start : blocks.stop
                ]
    return covered.reshape(scores.shape)
