# SPDX-License-Identifier: Apache-2.0
"""Rows of token slots of different lengths in one set of tensors."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from sals._contract import DEFAULT_BLOCK_SIZE

Kinds = Mapping[str, tuple[tuple[int, ...], torch.dtype]]


class SlotRows:
    """Fields of tokens, ``[slots, ...]``; row r owns `capacity[r]` slots from `offsets[r]` on.

    A row's tokens are its first `lengths[r]` slots, in the order in which they came. Tensors are exactly as
    large as the capacities, whole pages: shrinking a row gives its memory back.

    Parameters
    ----------
    kinds : mapping of str to (shape, dtype)
        What a slot holds.
    num_rows : int
        Rows.
    device : torch.device
        Where the tensors live.
    page_size : int
        Slots are allocated in pages, which the attention addresses.
    """

    def __init__(
        self, kinds: Kinds, num_rows: int, device: torch.device, page_size: int = DEFAULT_BLOCK_SIZE
    ) -> None:
        self._kinds = dict(kinds)
        self.page_size = page_size
        self.device = device
        self.lengths, self.offsets, self.capacity = torch.zeros(3, num_rows, dtype=torch.int64, device=device)
        self.fields = self._allocate(0)

    def __len__(self) -> int:
        """Rows."""
        return len(self.lengths)

    @property
    def width(self) -> int:
        """Tokens of the longest row."""
        return int(self.lengths.max()) if len(self) else 0

    @property
    def visible(self) -> Tensor:
        """Which slots of :meth:`padded` hold a token, bool (rows, width)."""
        return torch.arange(self.width, device=self.device) < self.lengths[:, None]

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor that takes memory for each slot."""
        yield from self.fields.values()

    def padded(self, name: str) -> Tensor:
        """Return a field as [rows, width, ...]; behind a row's length stands something finite."""
        field = self.fields[name]
        if not len(field):
            return field.new_zeros(len(self), 0, *field.shape[1:])
        if bool((self.capacity == self.capacity[0]).all()):
            return field.unflatten(0, (len(self), -1))[:, : self.width]
        index = self.offsets[:, None] + torch.arange(self.width, device=self.device)
        return field[index.clamp(max=len(field) - 1)]

    def set(self, name: str, values: Tensor) -> None:
        """Write a field of all tokens from [rows, width, ...]."""
        self.fields[name] = self.scattered(name, values)

    def scattered(self, name: str, values: Tensor) -> Tensor:
        """Return a field ``[slots, ...]`` that holds `values` [rows, width, ...], and 0 behind the rows."""
        row, index = self.visible.nonzero(as_tuple=True)
        field = torch.zeros_like(self.fields[name])
        field[self.offsets[row] + index] = values[row, index].to(field.dtype)
        return field

    def reserve(self, capacity: Tensor) -> None:
        """Give every row at least `capacity` slots, keeping its tokens."""
        if bool((capacity > self.capacity).any()):
            self._move(self.visible, torch.maximum(capacity, self.capacity))

    def append(self, new: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """Write tokens behind the rows.

        Parameters
        ----------
        new : Tensor[bool], shape (rows, columns)
            Which columns are tokens; they are written in order.
        values : mapping of str to Tensor, shape (rows, columns, ...)
            What to write; fields that are not given become 0.

        Returns
        -------
        Tensor[int64]
            The slots written, row by row.
        """
        self.reserve(self.lengths + new.sum(1))
        row, column = new.nonzero(as_tuple=True)
        slots = (self.offsets + self.lengths)[row] + (new.cumsum(1) - 1)[row, column]
        for name, field in self.fields.items():
            field[slots] = values[name][row, column].to(field.dtype) if name in values else 0
        self.lengths = self.lengths + new.sum(1)
        return slots

    def keep(self, kept: Tensor, capacity: Tensor) -> None:
        """Drop tokens and close the gaps; order stays.

        Parameters
        ----------
        kept : Tensor[bool], shape (rows, width)
            Tokens to keep.
        capacity : Tensor[int64], shape (rows,)
            Slots that the rows need afterwards; those of longer rows follow their length.
        """
        self._move(kept & self.visible, capacity)

    def replaced(self, **fields: Tensor) -> SlotRows:
        """Return the same rows with other fields, ``[slots, ...]``."""
        other = copy.copy(self)
        other.fields = {**self.fields, **fields}
        return other

    def truncate(self, lengths: Tensor) -> None:
        """Forget the newest tokens of rows, down to `lengths`; the slots stay allocated."""
        self.lengths = torch.minimum(self.lengths, lengths)

    def select(self, rows: Tensor) -> None:
        """Make row i a copy of what was row ``rows[i]``."""
        old = self.fields
        source_begin, lengths = self.offsets[rows], self.lengths[rows]
        self.capacity = self.capacity[rows]
        self.offsets = self.capacity.cumsum(0) - self.capacity
        self.fields = self._allocate(int(self.capacity.sum()))
        self.lengths = lengths
        row, index = self.visible.nonzero(as_tuple=True)
        self._copy(old, source_begin[row] + index, self.offsets[row] + index)

    def _move(self, kept: Tensor, capacity: Tensor) -> None:
        row, index = kept.nonzero(as_tuple=True)
        source = self.offsets[row] + index
        counts = kept.sum(1)
        capacity = -(-torch.maximum(capacity, counts) // self.page_size) * self.page_size
        old = self.fields
        if not torch.equal(capacity, self.capacity):
            self.capacity = capacity
            self.offsets = capacity.cumsum(0) - capacity
            self.fields = self._allocate(int(capacity.sum()))
        self._copy(old, source, self.offsets[row] + (kept.cumsum(1) - 1)[row, index])
        self.lengths = counts

    def _copy(self, old: Mapping[str, Tensor], source: Tensor, target: Tensor) -> None:
        for name, field in self.fields.items():
            field[target] = old[name][source]

    def _allocate(self, slots: int) -> dict[str, Tensor]:
        return {
            name: torch.zeros(slots, *shape, dtype=dtype, device=self.device)
            for name, (shape, dtype) in self._kinds.items()
        }
