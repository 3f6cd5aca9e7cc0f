# SPDX-License-Identifier: Apache-2.0
"""What the native operators compute, restated in plain PyTorch for measurements on whole query windows."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import torch
from torch import Tensor

from sals._contract import DEFAULT_BLOCK_SIZE, DEFAULT_SINK_BLOCKS, DEFAULT_TAIL_BLOCKS


@dataclasses.dataclass(frozen=True)
class Budget:
    """The selection settings of a measurement; blocks of ``block_size`` tokens."""

    block_size: int = DEFAULT_BLOCK_SIZE
    sink_blocks: int = DEFAULT_SINK_BLOCKS
    tail_blocks: int = DEFAULT_TAIL_BLOCKS

    def num_blocks(self, seq_len: int) -> int:
        """Return the number of blocks, the partial one included."""
        return -(-seq_len // self.block_size)


def quantize(x: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """Quantise the last axis symmetrically: float codes in [-levels, levels], and scales amax / levels."""
    scale = x.abs().amax(-1, keepdim=True) / levels
    codes = torch.where(scale > 0, x / scale, 0.0).round_()
    return codes, scale.squeeze(-1)


def as_int8(x: Tensor) -> Tensor:
    """Return what reading ``x`` back from an int8 cache with per-token-head scales gives."""
    codes, scale = quantize(x.float(), 127)
    return codes * scale[..., None]


def group_mean(query: Tensor, n_kv: int) -> Tensor:
    """Average the query heads of each KV head: [tokens, n_q, head_dim] to [tokens, n_kv, head_dim]."""
    return query.float().unflatten(1, (n_kv, -1)).mean(2)


def project(x: Tensor, projection: Tensor) -> Tensor:
    """Project [tokens, n_kv, head_dim] to the index: [n_idx, tokens, rank]."""
    n_idx, in_dim, _ = projection.shape
    return x.float().reshape(x.shape[0], n_idx, in_dim).transpose(0, 1) @ projection


def index_block_scores(
    query: Tensor, key: Tensor, projection: Tensor, scale: float, block_size: int
) -> Tensor:
    """Score every block with the int4 index.

    Parameters
    ----------
    query : Tensor, shape (s_q, n_q, head_dim)
        Queries, rotated or not as the index is.
    key : Tensor, shape (seq_len, n_kv, head_dim)
        Keys, likewise.
    projection : Tensor[float32], shape (n_idx, in_dim, rank)
        Projection of queries and keys.
    scale : float
        Softmax scale.
    block_size : int
        Tokens of a block.

    Returns
    -------
    Tensor[float32], shape (n_idx, s_q, ceil(seq_len / block_size))
        Log-sum-exp of the block's logits, whatever a query may see: only full visible blocks are candidates.
    """
    query_codes, query_scale = quantize(project(group_mean(query, key.shape[1]), projection), 7)
    key_codes, key_scale = quantize(project(key, projection), 7)
    logits = query_codes @ key_codes.transpose(1, 2)
    logits *= query_scale[..., None] * scale
    logits *= key_scale[:, None, :]
    return block_logsumexp(logits, block_size)


def block_logsumexp(logits: Tensor, block_size: int) -> Tensor:
    """Reduce the last axis by blocks; a partial last block counts the tokens it has."""
    missing = -logits.shape[-1] % block_size
    padded = torch.nn.functional.pad(logits, (0, missing), value=float("-inf"))
    return padded.unflatten(-1, (-1, block_size)).logsumexp(-1)


class Ranking:
    """The candidates of every query row in score order; any budget is then a prefix.

    Parameters
    ----------
    scores : Tensor, shape (heads, s_q, blocks)
        Block scores; the rows are the newest ``s_q`` tokens of a sequence of ``seq_len`` tokens.
    """

    def __init__(self, scores: Tensor, seq_len: int, budget: Budget):
        s_q, blocks = scores.shape[1:]
        visible = torch.arange(seq_len - s_q + 1, seq_len + 1, device=scores.device)
        row_blocks = -(-visible // budget.block_size)
        block = torch.arange(blocks, device=scores.device)
        last = (row_blocks - budget.tail_blocks)[:, None]
        candidate = (block >= budget.sink_blocks) & (block < last)
        self._forced = ~candidate & (block < row_blocks[:, None])
        self._num_candidates = candidate.sum(1)
        ranked = scores.masked_fill(~candidate, float("-inf")).sort(dim=-1, descending=True, stable=True)
        ordered = ranked.indices
        position = torch.empty_like(ordered)
        position.scatter_(-1, ordered, block.expand_as(ordered))
        self._position = position.masked_fill_(~candidate, blocks)

    def selected(self, keep: Fraction) -> Tensor:
        """Return which blocks are kept, bool, shape (heads, s_q, blocks)."""
        kept = -(-self._num_candidates * keep.numerator // keep.denominator)
        return (self._position < kept[:, None]) | self._forced
