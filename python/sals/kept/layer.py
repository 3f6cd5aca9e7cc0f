# SPDX-License-Identifier: Apache-2.0
"""Keys and values of one layer, as a method keeps and reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from sals import _core
from sals._contract import DEFAULT_BLOCK_SIZE
from sals.methods.interface import BlockSelector, Evictor, Held
from sals.methods.ranking import choose_blocks

from .attend import RowQuery, attend_rows, merged
from .bounds import Bounds
from .codes import from_codes, int8_codes
from .demoted import DemotedRows
from .rows import SlotRows

# Queries of longer passes are scored at once instead of being held for a rollback.
LONGEST_ROLLBACK = 16

Rotate = Callable[[Tensor], Tensor]
"""Applies RoPE to plain keys [rows, n, head_dim] at positions 0 to n - 1."""


@dataclasses.dataclass
class Pending:
    """Queries whose attention has not been added to the scores yet, so that a rollback can take them back."""

    queries: RowQuery
    lse: Tensor
    scale: float


@dataclasses.dataclass(frozen=True)
class Reading:
    """What the queries of a pass read, for those who watch.

    Parameters
    ----------
    queries : RowQuery
        The queries.
    read : Tensor[bool], shape (rows, s_q, tokens)
        The tokens of the request that each query reads, by position.
    out : Tensor, shape (rows, s_q, group, head_dim)
        What came out.
    """

    queries: RowQuery
    read: Tensor
    out: Tensor


class LayerKv:
    """The int8 rows of one layer and what its method needs beside them.

    A pass is :meth:`begin`, then :meth:`fill` for the first one of a request, or :meth:`append` and
    :meth:`attend`. All tensors have a row for each request and KV head, with real tokens before padding.

    Parameters
    ----------
    method : BlockSelector or Evictor
        The method.
    layer : int
        Index of the layer.
    head_dim : int
        Width of a head.
    max_tokens : int
        Most tokens of a request; a selector's memory.
    rotate : callable, optional
        For rolling positions: keys are then given and kept before RoPE.
    device : torch.device or str
        Where the tensors live.
    """

    def __init__(
        self,
        method: BlockSelector | Evictor,
        layer: int,
        head_dim: int,
        max_tokens: int,
        rotate: Rotate | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.method = method
        self.layer = layer
        self.head_dim = head_dim
        self.observer: Callable[[int, Reading], None] | None = None
        self._max_tokens = max_tokens
        self._rotate = rotate
        self._device = torch.device(device)
        self._evictor = method if isinstance(method, Evictor) else None
        self.scorer = method.scorer() if isinstance(method, Evictor) else None
        self.start(0)

    def start(self, num_rows: int) -> None:
        """Forget everything and make `num_rows` empty rows."""
        self.rows = SlotRows(self._kinds(), num_rows, self._device, self._page_size)
        self.seen = torch.zeros(num_rows, dtype=torch.int64, device=self._device)
        self._kept = self.seen
        self._pending: Pending | None = None
        self._bounds: Bounds | None = None
        self._demoted: DemotedRows | None = None
        if getattr(self.method, "keeps_bounds", False):
            blocks = -(-self._max_tokens // self._block_size)
            self._bounds = Bounds(num_rows, blocks, self._block_size, self.head_dim, self._device)
        if getattr(self.method, "demotes", False):
            self._demoted = DemotedRows(self.head_dim, num_rows, self._device)

    @property
    def _block_size(self) -> int:
        return self.method.block_size if isinstance(self.method, BlockSelector) else DEFAULT_BLOCK_SIZE

    @property
    def _page_size(self) -> int:
        return max(self._block_size, DEFAULT_BLOCK_SIZE)

    def _kinds(self) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
        codes = ((int(_core.padded_head_dim(self.head_dim)),), torch.int8)
        number = ((), torch.float32)
        kinds = {"key": codes, "value": codes, "key_scale": number, "value_scale": number}
        if self._evictor is not None:
            kinds["position"] = ((), torch.int32)
        if self.scorer is not None:
            kinds["score"] = number
            width = self.scorer.sketch_width(self.head_dim)
            kinds |= {"sketch": ((width,), torch.bfloat16)} if width else {}
        return kinds

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor that grows with tokens."""
        yield from self.rows.tensors()
        for extra in (self._bounds, self._demoted):
            if extra is not None:
                yield from extra.tensors()
        if self._pending is not None:
            yield from (self._pending.queries.query, self._pending.lse)

    def keys(self) -> Tensor:
        """Return the keys as stored, float32 [rows, width, head_dim]; 0 or old keys behind a row's length."""
        return from_codes(self.rows.padded("key"), self.rows.padded("key_scale"), self.head_dim)

    def bounds(self) -> tuple[Tensor, Tensor]:
        """Return the smallest and largest channels of blocks, [rows, blocks, head_dim]."""
        assert self._bounds is not None
        return self._bounds.of(-(-self.rows.width // self._block_size))

    def positions(self) -> Tensor:
        """Return the positions of the tokens held, int64 [rows, width], ascending."""
        if self._evictor is None:
            return torch.arange(self.rows.width, device=self._device).expand(len(self.rows), -1)
        return self.rows.padded("position").long()

    def begin(self, incoming: Tensor) -> None:
        """Prepare for `incoming` (rows,) more tokens: bring scores up to date, make room."""
        self._settle()
        if self._evictor is not None:
            due = self._evictor.due(self.rows.lengths, self._kept, incoming)
            if bool(due.any()):
                self._cut(due, self._evictor.room(incoming))

    def fill(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        lens: Tensor,
        scale: float,
        scores: Tensor | None = None,
    ) -> None:
        """Keep what the method keeps of a prompt that has been attended densely.

        Parameters
        ----------
        query : Tensor, shape (rows, s_q, group, head_dim)
            Queries of the prompt.
        key, value : Tensor, shape (rows, s_q, head_dim)
            Keys (before RoPE for rolling positions) and values.
        lens : Tensor[int64], shape (rows,)
            Tokens of each row.
        scale : float
            Softmax scale.
        scores : Tensor[float32], shape (rows, s_q), optional
            What :meth:`prompt_scores` would give.

        Raises
        ------
        ValueError
            If a shape is wrong.
        """
        self._check_shapes(key, value, lens, len(lens))
        self.start(len(lens))
        index = torch.arange(key.shape[1], device=self._device)
        new = index < lens[:, None]
        capacity = torch.full_like(lens, self._max_tokens)
        self.seen = lens.clone()
        if self._evictor is not None:
            if scores is None:
                scores = self.prompt_scores(query, key, lens, scale)
            held = Held(lens, lens, index.expand(len(lens), -1), scores, self.layer)
            kept = self._evictor.keep(held, torch.zeros_like(lens))
            if self._demoted is not None:
                self._write(new, key, value, index.expand(len(lens), -1), scores)
                self._demoted.take(self.rows, new & ~kept)
                self.rows.keep(kept, self._evictor.capacity(kept.sum(1)))
                self._kept = self.rows.lengths
                return
            new, capacity = kept, self._evictor.capacity(kept.sum(1))
        self.rows.reserve(capacity)
        self._write(new, key, value, index.expand(len(lens), -1), scores)
        self._kept = self.rows.lengths

    def prompt_scores(self, query: Tensor, key: Tensor, lens: Tensor, scale: float) -> Tensor | None:
        """Scores of the tokens of a prompt, float32 (rows, s_q); None if the method has no scores."""
        if self.scorer is None:
            return None
        index = torch.arange(key.shape[1], device=key.device)
        seen = torch.where(index < lens[:, None], index + 1, 0)
        return self.scorer.mass(query, self.scorer.features(key), seen, scale, None)

    def append(self, key: Tensor, value: Tensor, lens: Tensor) -> None:
        """Add the tokens of a pass: key, value (rows, s_q, head_dim), of which `lens` (rows,) are real.

        Raises
        ------
        ValueError
            If a shape is wrong, or a selector has no room for the tokens.
        """
        self._check_shapes(key, value, lens, len(self.rows))
        index = torch.arange(key.shape[1], device=self._device)
        new = index < lens[:, None]
        if self._evictor is None and bool((self.seen + lens > self._max_tokens).any()):
            raise ValueError(
                f"sals.kept: max_len must be at least {int((self.seen + lens).max())}, got {self._max_tokens}"
            )
        self._write(new, key, value, self.seen[:, None] + index, None)
        self.seen = self.seen + lens

    def _check_shapes(self, key: Tensor, value: Tensor, lens: Tensor, rows: int) -> None:
        expected = [rows, key.shape[1] if key.dim() > 1 else 1, self.head_dim]
        for name, tensor in (("key", key), ("value", value)):
            if list(tensor.shape) != expected:
                raise ValueError(
                    f"sals.kept: {name} must have shape [rows, s_q, head_dim] = {expected}, "
                    f"got {list(tensor.shape)}"
                )
        if tuple(lens.shape) != (rows,) or bool((lens > expected[1]).any()) or bool((lens < 0).any()):
            raise ValueError(
                f"sals.kept: lens must be {rows} numbers from 0 to {expected[1]}, got {lens.tolist()}"
            )

    def _write(
        self, new: Tensor, key: Tensor, value: Tensor, positions: Tensor, scores: Tensor | None
    ) -> None:
        before = self.rows.lengths
        values = {"position": positions}
        values["key"], values["key_scale"] = int8_codes(key)
        values["value"], values["value_scale"] = int8_codes(value)
        if self.scorer is not None:
            values |= {} if scores is None else {"score": scores}
            values |= {"sketch": self.scorer.features(key)} if "sketch" in self.rows.fields else {}
        self.rows.append(new, values)
        if self._bounds is not None:
            self._bounds.update(self.keys(), self.rows.lengths, before)

    def attend(self, queries: RowQuery, scale: float) -> Tensor:
        """Attend to what the method reads, after :meth:`append`; as :func:`attend_rows`."""
        lists, block_size = None, self._block_size
        if isinstance(self.method, BlockSelector):
            seen = queries.seen(self.rows.lengths)
            scores = self.method.block_scores(self, queries.query.float(), seen, scale)
            if scores is not None:
                lists = choose_blocks(scores, seen, self.method.selection(), self.rows.width)
        parts = [attend_rows(self._rotated(), queries, scale, lists, block_size)]
        if self._demoted is not None and self._demoted.rows.width:
            parts.append(self._demoted.attend(queries, scale))
        out, lse = parts[0] if len(parts) == 1 else merged(parts)
        if self.observer is not None:
            self.observer(self.layer, Reading(queries, self._read(queries, lists, block_size), out))
        if self.scorer is not None:
            # A copy of its own: a view would keep all of what it was cut from.
            query = queries.query.clone(memory_format=torch.contiguous_format)
            self._pending = Pending(RowQuery(query, queries.lens), lse, scale)
        if self._evictor is not None and queries.query.shape[1] > LONGEST_ROLLBACK:
            self.begin(torch.zeros_like(queries.lens))
        return out

    def crop(self, seen: Tensor) -> None:
        """Forget the newest tokens, down to `seen` (rows,) of each request; what was evicted stays evicted.

        The scores that queries of the last pass gave are taken back, unless it had more than
        `LONGEST_ROLLBACK` of them.
        """
        removed = self.seen - torch.minimum(seen, self.seen)
        if self._evictor is None:
            self.rows.truncate(seen)
        else:
            held = (self.positions() < seen[:, None]) & self.rows.visible
            self.rows.truncate(held.sum(1))
        if self._demoted is not None:
            self._demoted.crop(seen)
        if self._pending is not None:
            queries = self._pending.queries
            lens = (queries.lens - removed).clamp(min=0)
            self._pending.queries = dataclasses.replace(queries, lens=lens)
        self.seen = self.seen - removed

    def select(self, rows: Tensor) -> None:
        """Make row i a copy of what was row ``rows[i]``."""
        self._settle()
        self.rows.select(rows)
        self.seen, self._kept = self.seen[rows], self._kept[rows]
        if self._bounds is not None:
            self._bounds.select(rows)
        if self._demoted is not None:
            self._demoted.rows.select(rows)

    def _settle(self) -> None:
        """Add the attention of the last pass to the scores."""
        pending, self._pending = self._pending, None
        if pending is None or self.scorer is None:
            return
        queries = pending.queries
        key = self.rows.padded("sketch") if "sketch" in self.rows.fields else self.keys()
        seen = queries.seen(self.rows.lengths)
        mass = self.scorer.mass(queries.query, key, seen, pending.scale, pending.lse)
        faded = self.rows.padded("score") * self.scorer.decay ** queries.lens[:, None].float()
        self.rows.set("score", faded + mass)

    def _cut(self, due: Tensor, room: Tensor) -> None:
        """Drop, or demote, what the method does not keep of the rows that are due."""
        assert self._evictor is not None
        scores = None if self.scorer is None else self.rows.padded("score")
        held = Held(self.rows.lengths, self.seen, self.positions(), scores, self.layer)
        kept = (self._evictor.keep(held, room) | ~due[:, None]) & self.rows.visible
        if self._demoted is not None:
            self._demoted.take(self.rows, self.rows.visible & ~kept)
        counts = kept.sum(1)
        self._kept = torch.where(due, counts, self._kept)
        self.rows.keep(kept, self._evictor.capacity(self._kept))

    def _rotated(self) -> SlotRows:
        """Rows whose keys stand at the positions of the attention."""
        if self._rotate is None:
            return self.rows
        codes, scale = int8_codes(self._rotate(self.keys()))
        return self.rows.replaced(
            key=self.rows.scattered("key", codes), key_scale=self.rows.scattered("key_scale", scale)
        )

    def _read(self, queries: RowQuery, lists: tuple[Tensor, Tensor] | None, block_size: int) -> Tensor:
        """Mask of the tokens that the queries read, by position, bool (rows, s_q, tokens)."""
        total = int(self.seen.max())
        seen = queries.seen(self.rows.lengths)
        width = self.rows.width
        slots = torch.arange(width, device=self._device) < seen[..., None]
        if lists is not None:
            slots &= listed_tokens(lists[0][:, :, 0], block_size, width)
        # Slots that are not read go to a column that is cut off.
        places = torch.where(slots & self.rows.visible[:, None], self.positions()[:, None], total)
        read = torch.zeros(*seen.shape, total + 1, dtype=torch.bool, device=self._device)
        read.scatter_(2, places, True)
        if self._demoted is not None and self._demoted.rows.width:
            low = self._demoted.rows
            places = torch.where(low.visible, low.padded("position").long(), total)[:, None]
            read |= torch.zeros_like(read).scatter_(2, places.expand(-1, seen.shape[1], -1), True)
        return read[..., :total] & (seen > 0)[..., None]


def listed_tokens(block_ids: Tensor, block_size: int, tokens: int) -> Tensor:
    """Return which tokens lists [..., width] of block ids hold, bool [..., tokens]."""
    blocks = -(-tokens // block_size)
    marks = torch.zeros(*block_ids.shape[:-1], blocks + 1, dtype=torch.bool, device=block_ids.device)
    marks.scatter_(-1, torch.where(block_ids < 0, blocks, block_ids).long(), True)
    return marks[..., :blocks].repeat_interleave(block_size, -1)[..., :tokens]
