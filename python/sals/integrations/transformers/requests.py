# SPDX-License-Identifier: Apache-2.0
"""Which columns of a padded batch are tokens, and which slots of the paged caches hold them."""

from __future__ import annotations

import dataclasses
import functools

import torch
from torch import Tensor

from sals._contract import INVALID_SLOT
from sals.selection import all_blocks

from .timer import NO_TIMER, StageTimer


@dataclasses.dataclass
class Step:
    """What one forward pass adds to the caches: the same for every layer.

    A *column* is a position in the padded batch that transformers passes; a request's tokens are the columns
    that its attention mask leaves in.

    Parameters
    ----------
    batch, s_q : int
        Requests, and columns of this pass.
    first_column : int
        Columns the cache had before this pass; 0 makes it a prefill.
    seq_lens : Tensor[int32], shape (batch,)
        Tokens per request, this pass included.
    max_seq_len : int
        Largest of `seq_lens`.
    slot_mapping : Tensor[int32], shape (batch * s_q,)
        Slot of each column, -1 for padding.
    block_table : Tensor[int32], shape (batch, pages per request)
        Pages of each request.
    block_size : int
        Tokens of a selection block.
    query_lens : Tensor[int32], shape (batch,), or None
        Tokens per request in this pass, None where every column is a token.
    order : Tensor[int64], shape (batch, s_q), or None
        Column of each row once tokens stand before padding; given with `query_lens`.
    timer : StageTimer
        Where this pass records its stages.
    """

    batch: int
    s_q: int
    first_column: int
    seq_lens: Tensor
    max_seq_len: int
    slot_mapping: Tensor
    block_table: Tensor
    block_size: int
    query_lens: Tensor | None = None
    order: Tensor | None = None
    timer: StageTimer = NO_TIMER

    @property
    def is_prefill(self) -> bool:
        """Whether this pass holds all there is of every request."""
        return self.first_column == 0

    @functools.cached_property
    def all_blocks(self) -> tuple[Tensor, Tensor]:
        """One list per request of all its blocks: ids [batch, 1, 1, width], lengths [batch, 1, 1]."""
        return all_blocks(self.seq_lens, self.max_seq_len, self.block_size)

    def tokens_first(self, columns: Tensor) -> Tensor:
        """Move the tokens of each request before its padding, along axis 1."""
        if self.order is None:
            return columns
        return columns[torch.arange(self.batch, device=columns.device)[:, None], self.order]

    def in_columns(self, rows: Tensor) -> Tensor:
        """Undo :meth:`tokens_first`."""
        if self.order is None:
            return rows
        columns = torch.empty_like(rows)
        columns[torch.arange(self.batch, device=rows.device)[:, None], self.order] = rows
        return columns


class Requests:
    """Columns, lengths and pages of the requests in a cache; kept on the host.

    Parameters
    ----------
    max_batch, max_columns : int
        Largest batch and largest number of columns, padding included.
    page_size : int
        Tokens of a page. Each request owns ``ceil(max_columns / page_size)`` pages.
    block_size : int
        Tokens of a selection block.
    device : torch.device
        Where the tensors of a :class:`Step` go.
    """

    def __init__(
        self, max_batch: int, max_columns: int, page_size: int, block_size: int, device: torch.device
    ) -> None:
        self.max_batch = max_batch
        self.max_columns = max_columns
        self.page_size = page_size
        self.block_size = block_size
        self.device = device
        self.batch = 0
        self.num_columns = 0
        pages = -(-max_columns // page_size)
        self._table = torch.arange(max_batch * pages, dtype=torch.int32).view(max_batch, pages)
        self._is_token = torch.zeros(max_batch, max_columns, dtype=torch.bool)

    def begin(self, batch: int, s_q: int, mask: Tensor | None, timer: StageTimer = NO_TIMER) -> Step:
        """Describe a pass of `s_q` columns; nothing changes before :meth:`commit`.

        Parameters
        ----------
        mask : Tensor[bool], shape (batch, columns before + s_q), or None
            True for tokens, False for padding; None if every new column is a token.

        Raises
        ------
        ValueError
            If the pass does not fit, or contradicts what the cache holds.
        """
        self._check(batch, s_q, mask)
        begin, end = self.num_columns, self.num_columns + s_q
        new = self._is_token[:batch, begin:end]
        new.copy_(torch.ones_like(new) if mask is None else mask[:, begin:])
        past_lens = self._is_token[:batch, :begin].sum(1)
        positions = past_lens[:, None] + new.cumsum(1) - 1
        pages = self._table[:batch].gather(1, positions.clamp(min=0) // self.page_size)
        slots = torch.where(new, pages * self.page_size + positions % self.page_size, INVALID_SLOT)
        seq_lens = past_lens + new.sum(1)
        step = Step(
            batch=batch,
            s_q=s_q,
            first_column=begin,
            seq_lens=self._to_device(seq_lens),
            max_seq_len=int(seq_lens.max()),
            slot_mapping=self._to_device(slots.flatten()),
            block_table=self._table[:batch].to(self.device),
            block_size=self.block_size,
            timer=timer,
        )
        if not bool(new.all()):
            step.query_lens = self._to_device(new.sum(1))
            step.order = (~new).to(torch.int8).argsort(dim=1, stable=True).to(self.device)
        return step

    def commit(self, step: Step) -> None:
        """Count the columns of a pass that every layer has written."""
        self.batch = step.batch
        self.num_columns = step.first_column + step.s_q

    def crop(self, num_columns: int) -> None:
        """Forget the newest `num_columns` columns."""
        self.num_columns = max(self.num_columns - num_columns, 0)

    def reset(self) -> None:
        """Forget everything."""
        self.batch = self.num_columns = 0

    def tokens(self) -> Tensor:
        """Tokens of each request of the batch, int64 (batch,)."""
        return self._is_token[: self.batch, : self.num_columns].sum(1)

    def take(self, sources: list[int]) -> tuple[Tensor, Tensor]:
        """Make request i a copy of what was request ``sources[i]``.

        The first request to ask for a source gets its pages; any other gets pages of a request that nobody
        asked for, to be filled by copying.

        Returns
        -------
        source, target : Tensor[int64], shape (pages to copy,)
            Pages to copy in every layer.

        Raises
        ------
        ValueError
            If more requests are asked for than the cache was made for.
        """
        if len(sources) > self.max_batch:
            raise ValueError(
                f"sals.SalsCache: max_batch must be at least {len(sources)}, got {self.max_batch}"
            )
        lengths = self._is_token[:, : self.num_columns].sum(1)
        used_pages = (-(-lengths // self.page_size)).tolist()
        spare = [row for row in range(self.max_batch) if row not in set(sources)]
        owners, copies = [], []
        for source in sources:
            if source in owners:
                owners.append(spare.pop())
                copied = self._table[[source, owners[-1]], : used_pages[source]]
                copies.append(copied.long())
            else:
                owners.append(source)
        self._is_token[: len(sources)] = self._is_token[sources]
        self._table = self._table[owners + spare]
        self.batch = len(sources)
        pairs = torch.cat(copies, dim=1) if copies else torch.empty(2, 0, dtype=torch.int64)
        return pairs[0].to(self.device), pairs[1].to(self.device)

    def _to_device(self, host: Tensor) -> Tensor:
        return host.to(device=self.device, dtype=torch.int32)

    def _check(self, batch: int, s_q: int, mask: Tensor | None) -> None:
        end = self.num_columns + s_q
        if batch > self.max_batch or (self.num_columns and batch != self.batch):
            expected = f"{self.batch}, as before" if self.num_columns else f"at most {self.max_batch}"
            raise ValueError(f"sals.SalsCache: batch must be {expected}, got {batch}")
        if end > self.max_columns:
            raise ValueError(
                f"sals.SalsCache: max_len must be at least {end} to take {s_q} more columns, "
                f"got {self.max_columns}"
            )
        if mask is None:
            return
        if tuple(mask.shape) != (batch, end):
            raise ValueError(
                f"sals.SalsCache: attention_mask must have shape [batch, columns] = {[batch, end]}, "
                f"got {list(mask.shape)}"
            )
        if not torch.equal(mask[:, : self.num_columns], self._is_token[:batch, : self.num_columns]):
            raise ValueError(
                "sals.SalsCache: attention_mask must leave in the columns it left in when they were cached, "
                "got another choice. A cached token cannot be masked later"
            )
