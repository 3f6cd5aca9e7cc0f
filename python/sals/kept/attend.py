# SPDX-License-Identifier: Apache-2.0
"""Attention over rows of slots with the operator ``sfaa``."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from sals._contract import DEFAULT_BLOCK_SIZE
from sals.ops import sparse_attention
from sals.selection import all_blocks

from .rows import SlotRows


@dataclasses.dataclass(frozen=True)
class RowQuery:
    """The queries of a pass, real ones before padding.

    Parameters
    ----------
    query : Tensor, shape (rows, s_q, group, head_dim)
        Queries of one KV head each.
    lens : Tensor[int64], shape (rows,)
        Real queries.
    """

    query: Tensor
    lens: Tensor

    def seen(self, lengths: Tensor) -> Tensor:
        """Tokens that each query sees of rows that end with the pass, int64 (rows, s_q); 0 for padding."""
        index = torch.arange(self.query.shape[1], device=lengths.device)
        seen = lengths[:, None] - self.lens[:, None] + 1 + index
        return torch.where(index < self.lens[:, None], seen, 0)


def attend_rows(
    rows: SlotRows,
    queries: RowQuery,
    scale: float,
    lists: tuple[Tensor, Tensor] | None = None,
    block_size: int = DEFAULT_BLOCK_SIZE,
    causal: bool = True,
) -> tuple[Tensor, Tensor]:
    """Attend to the tokens of each row, the last of which belong to the queries.

    Parameters
    ----------
    rows : SlotRows
        With the fields key, value (int8 codes), key_scale and value_scale.
    queries : RowQuery
        The queries.
    scale : float
        Softmax scale.
    lists : tuple of Tensor, optional
        Block ids and lengths as ``sals.sparse_attention`` takes them; every block by default.
    block_size : int
        Tokens of a listed block.
    causal : bool
        False lets every query see the whole row.

    Returns
    -------
    out : Tensor, shape (rows, s_q, group, head_dim)
    lse : Tensor[float32], shape (rows, s_q, group)
    """
    lengths = rows.lengths.to(torch.int32)
    if lists is None:
        lists = all_blocks(lengths, max(rows.width, 1), block_size)
    names = ("key", "value", "key_scale", "value_scale")
    fields = {name: rows.fields[name].unflatten(0, (-1, 1, rows.page_size)) for name in names}
    return sparse_attention(
        queries.query.contiguous(),
        fields["key"],
        fields["value"],
        fields["key_scale"],
        fields["value_scale"],
        *lists,
        lengths,
        query_lens=queries.lens.to(torch.int32),
        block_table=_pages(rows),
        scale=scale,
        block_size=block_size,
        causal=causal,
        return_lse=True,
    )


def _pages(rows: SlotRows) -> Tensor:
    """Block table of rows whose pages follow each other; entries behind a row's pages are not read."""
    pages = rows.capacity // rows.page_size
    index = torch.arange(int(pages.max()), device=rows.device)
    return (rows.offsets[:, None] // rows.page_size + torch.minimum(index, pages[:, None] - 1)).to(
        torch.int32
    )


def merged(parts: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Combine attention over disjoint sets of tokens by their log-sum-exps."""
    lse = torch.stack([part[1] for part in parts]).logsumexp(0)
    finite = lse.masked_fill(lse == -torch.inf, 0.0)
    out = sum(part[0].float() * (part[1] - finite).exp()[..., None] for part in parts)
    return torch.as_tensor(out).to(parts[0][0].dtype), lse
