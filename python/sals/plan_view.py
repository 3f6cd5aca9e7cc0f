# SPDX-License-Identifier: Apache-2.0
"""A plan in words: which core works on which tiles of which rows, who merges, and what it costs.

For people and tools; the operators take the plan tensor itself. ``include/sals/plan.h`` defines the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sals import _core
from sals._contract import (
    NO_SLOT,
    PLAN_FIELDS,
    PLAN_MAGIC,
    PLAN_OP_QSI,
    PLAN_VERSION,
    PLAN_WORDS,
    ROW_END,
)


@dataclass(frozen=True)
class Piece:
    """Consecutive tiles of one list row on one core.

    Attributes
    ----------
    row : int
        List row, ``token_row * heads + head``.
    tile_begin, tile_end : int
        Half-open range of tiles; `tile_end` is None if the piece runs to the end of the row.
    slot : int or None
        Place of this part of a cut row among all parts; None for a row that one core handles whole.
    """

    row: int
    tile_begin: int
    tile_end: int | None
    slot: int | None


@dataclass(frozen=True)
class Merge:
    """One cut row, whose parts are in slots ``first_slot .. first_slot + num_parts - 1``."""

    row: int
    first_slot: int
    num_parts: int


class PlanView:
    """Read a plan.

    Parameters
    ----------
    plan : Tensor[int32] or array of int32, shape (PLAN_WORDS,)
        What ``qsi_plan`` or ``sfaa_plan`` returned. A tensor on a device is copied to the host.

    Raises
    ------
    ValueError
        If the words are not a plan of this version.
    """

    def __init__(self, plan: Any) -> None:
        words = plan.cpu().numpy() if hasattr(plan, "cpu") else np.asarray(plan)
        if words.shape != (PLAN_WORDS,) or words.dtype != np.int32:
            raise ValueError(
                f"sals: plan must be int32 of shape [plan_words] = [{PLAN_WORDS}], "
                f"got {words.dtype} of shape {list(words.shape)}"
            )
        self.words = words
        if self._field("magic") != PLAN_MAGIC or self._field("version") != PLAN_VERSION:
            raise ValueError(
                f"sals: plan must begin with magic {PLAN_MAGIC} and version {PLAN_VERSION}, "
                f"got {self._field('magic')} and {self._field('version')}"
            )

    def _field(self, name: str) -> int:
        return int(self.words[PLAN_FIELDS[name][0]])

    def _array(self, name: str, count: int) -> list[int]:
        first, _ = PLAN_FIELDS[name]
        return [int(word) for word in self.words[first : first + count]]

    @property
    def op(self) -> str:
        """The operator the plan is for: ``"qsi"`` or ``"sfaa"``."""
        return "qsi" if self._field("op") == PLAN_OP_QSI else "sfaa"

    @property
    def num_cores(self) -> int:
        """Cores the plan divides the work over."""
        return self._field("num_cores")

    @property
    def used_cores(self) -> int:
        """Cores that have at least one tile."""
        return self._field("used_cores")

    @property
    def num_rows(self) -> int:
        """List rows of the call."""
        return self._field("num_rows")

    @property
    def tile_tokens(self) -> int:
        """Tokens of a full tile."""
        return self._field("tile_tokens")

    def boundaries(self) -> list[tuple[int, int]]:
        """Return the (row, tile) at which each core starts, and where the last one stops."""
        count = self.num_cores + 1
        return list(zip(self._array("row_begin", count), self._array("tile_begin", count), strict=True))

    def cores(self) -> list[list[Piece]]:
        """Return the pieces of each core, in the order in which it works on them."""
        return [
            [
                Piece(row, begin, None if end == ROW_END else end, None if slot == NO_SLOT else slot)
                for row, begin, end, slot in _core.plan_pieces(self.words, core)
            ]
            for core in range(self.num_cores)
        ]

    def merges(self) -> list[Merge]:
        """Return the rows that core boundaries cut."""
        count = self._field("num_merges")
        names = ("merge_row", "merge_first_slot", "merge_num_parts")
        return [Merge(*words) for words in zip(*(self._array(name, count) for name in names), strict=True)]

    def merge_units(self) -> list[list[tuple[int, int]]]:
        """Return what each of the ``2 * num_cores`` vector cores merges.

        Returns
        -------
        list of list of (int, int)
            Pairs (index into `merges`, slice of MERGE_SLICE_ROWS query rows).
        """
        begins = self._array("merge_unit_begin", 2 * self.num_cores + 1)
        slices = self._field("merge_slices")
        return [
            [divmod(unit, slices) for unit in range(begin, end)]
            for begin, end in zip(begins[:-1], begins[1:], strict=True)
        ]

    def core_cycles(self, tokens: np.ndarray, query_rows: int = 1) -> np.ndarray:
        """Model the time of each core with the planner's own cost model.

        Parameters
        ----------
        tokens : array of int, shape (token_rows,)
            Scored (qsi) or listed (sfaa) tokens of each token row.
        query_rows : int
            Query vectors that share a list row: `group`, times `s_q` for a list shared by a request.

        Returns
        -------
        array of int64, shape (num_cores,)
            Modelled cycles, the merge step apart. They rest on the chip's published figures, not on a
            measurement; see ``docs/explanation/planner.md``.
        """
        tokens = np.asarray(tokens)
        heads = self.num_rows // max(len(tokens), 1)
        return np.array(
            [
                sum(self._piece_cycles(piece, tokens, heads, query_rows) for piece in core)
                for core in self.cores()
            ],
            dtype=np.int64,
        )

    def _piece_cycles(self, piece: Piece, tokens: np.ndarray, heads: int, query_rows: int) -> int:
        op = self._field("op")
        row_tokens = int(tokens[piece.row // heads])
        if piece.slot is None:
            return int(_core.row_cycles(op, query_rows, row_tokens))
        end = -(-row_tokens // self.tile_tokens) if piece.tile_end is None else piece.tile_end
        return int(_core.part_cycles(op, query_rows, row_tokens, piece.tile_begin, end))

    def as_table(self, tokens: np.ndarray | None = None, query_rows: int = 1) -> str:
        """Lay the plan out as text, one line per core.

        Parameters
        ----------
        tokens, query_rows
            As for `core_cycles`; with `tokens` the table has the modelled cycles.
        """
        cycles = None if tokens is None else self.core_cycles(tokens, query_rows)
        lines = [
            f"{self.op} plan: {self.num_rows} rows, tiles of {self.tile_tokens} tokens, "
            f"{self.used_cores} of {self.num_cores} cores busy, rows cut: {len(self.merges())}"
        ]
        for core, pieces in enumerate(self.cores()):
            cost = "" if cycles is None else f"{cycles[core]:>10} cycles  "
            lines.append(f"core {core:>2}  {cost}{_describe(pieces)}")
        lines += [
            f"row {merge.row} is merged from {merge.num_parts} parts, slots {merge.first_slot} to "
            f"{merge.first_slot + merge.num_parts - 1}"
            for merge in self.merges()
        ]
        return "\n".join(lines)


def _describe(pieces: list[Piece]) -> str:
    """Name the pieces of a core, runs of whole rows together."""
    texts: list[str] = []
    run: list[int] = []
    for piece in pieces:
        if piece.slot is None:
            run.append(piece.row)
            continue
        texts += _describe_run(run)
        run = []
        last = "the last" if piece.tile_end is None else str(piece.tile_end - 1)
        texts.append(f"row {piece.row} tiles {piece.tile_begin} to {last}")
    return ", ".join([*texts, *_describe_run(run)]) or "idle"


def _describe_run(rows: list[int]) -> list[str]:
    """Name consecutive whole rows."""
    if not rows:
        return []
    return [f"row {rows[0]}" if len(rows) == 1 else f"rows {rows[0]} to {rows[-1]}"]
