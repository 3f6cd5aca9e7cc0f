# SPDX-License-Identifier: Apache-2.0
"""Choosing the best of a row: tokens for evictors, blocks for selectors; rows may differ in everything."""

from __future__ import annotations

import torch
from torch import Tensor

from sals._contract import COVERAGE_MASS_ONE, COVERAGE_ONE, INVALID_BLOCK
from sals.reference.selection import SelectionParams, width
from sals.selection import Selection, keep_fraction


def rank(scores: Tensor, candidates: Tensor) -> Tensor:
    """Place of every candidate of a row, best first; equal scores by position, NaN last.

    Parameters
    ----------
    scores : Tensor, shape (..., width)
        Higher is better; NaN counts as -inf.
    candidates : Tensor[bool], shape (..., width)
        Who takes part.

    Returns
    -------
    Tensor[int64], shape (..., width)
        0 for the best; `width` for whoever takes no part.
    """
    values = scores.masked_fill(scores.isnan(), -torch.inf)
    # A candidate of score -inf still ranks before all who take no part: sort by that first, stably.
    order = values.argsort(dim=-1, descending=True, stable=True)
    outside_last = (~candidates).gather(-1, order).to(torch.int8).argsort(dim=-1, stable=True)
    order = order.gather(-1, outside_last)
    places = torch.arange(scores.shape[-1], device=scores.device).expand_as(order)
    return torch.empty_like(order).scatter_(-1, order, places).masked_fill(~candidates, scores.shape[-1])


def first_and_newest(lengths: Tensor, slots: int, first: int, newest: Tensor | int) -> Tensor:
    """Mark the first and the newest tokens of rows, bool (rows, slots)."""
    index = torch.arange(slots, device=lengths.device)
    begin = lengths - newest
    return (index < lengths[:, None]) & ((index < first) | (index >= begin[:, None]))


def choose_blocks(
    scores: Tensor | None, seen: Tensor, selection: Selection, max_seq_len: int
) -> tuple[Tensor, Tensor]:
    """Choose blocks by the rule of ``include/sals/selection.h``, in PyTorch.

    Parameters
    ----------
    scores : Tensor[float32], shape (rows, s_q, blocks), or None
        Score of every block; None chooses all.
    seen : Tensor[int64], shape (rows, s_q)
        Tokens that each query sees; 0 or less chooses nothing.
    selection : Selection
        The rule.
    max_seq_len : int
        Upper bound of `seen`.

    Returns
    -------
    block_ids : Tensor[int32], shape (rows, s_q, 1, width)
        Ascending, padded with -1: as ``sals.sparse_attention`` takes them, one KV head a row.
    selected_lens : Tensor[int32], shape (rows, s_q, 1)
        Tokens in those blocks.
    """
    size = selection.block_size
    blocks = -(-max_seq_len // size)
    total = -(-seen.clamp(min=0) // size)
    index = torch.arange(blocks, device=seen.device)
    chosen = index < total[..., None]
    columns = blocks
    if scores is not None:
        chosen &= _kept(scores, total, selection)
        columns = width(max_seq_len, SelectionParams(**selection.arguments()))
    first = chosen.to(torch.int8).argsort(dim=-1, descending=True, stable=True)[..., :columns]
    ids = torch.where(chosen.gather(-1, first), first, INVALID_BLOCK)
    lengths = (seen[..., None] - index * size).clamp(0, size) * chosen
    return ids[:, :, None].to(torch.int32).contiguous(), lengths.sum(-1)[..., None].to(torch.int32)


def _kept(scores: Tensor, total: Tensor, selection: Selection) -> Tensor:
    """Sinks, tail and the best candidates of every row, bool (rows, s_q, blocks)."""
    index = torch.arange(scores.shape[-1], device=scores.device)
    last = (total - selection.tail_blocks)[..., None]
    candidate = (index >= selection.sink_blocks) & (index < last)
    place = rank(scores, candidate)
    n = candidate.sum(-1, keepdim=True)
    if selection.coverage:
        count = _covering(scores, candidate, place, selection.coverage)
    else:
        fraction = keep_fraction(selection.keep)
        count = -(-n * fraction.numerator // fraction.denominator)
    count = torch.maximum(count, n.clamp(max=selection.min_blocks)).clamp(max=selection.max_blocks)
    return (place < count) | ~candidate


def _covering(scores: Tensor, candidate: Tensor, place: Tensor, coverage: float) -> Tensor:
    """Candidates that hold the share `coverage` of their mass, in the integers of the rule."""
    if coverage >= 1:
        return candidate.sum(-1, keepdim=True)
    values = scores.masked_fill(scores.isnan() | ~candidate, -torch.inf).float()
    best = values.amax(-1, keepdim=True)
    difference = torch.where(values == best, 0.0, values - best).double()
    mass = (COVERAGE_MASS_ONE * difference.exp()).round().long().masked_fill(~candidate, 0)
    slots = scores.shape[-1]
    ordered = torch.zeros_like(mass).scatter_add_(-1, place.clamp(max=slots - 1), mass)
    before = ordered.cumsum(-1) - ordered
    share = max(round(coverage * COVERAGE_ONE), 1)
    enough = before * COVERAGE_ONE < share * ordered.sum(-1, keepdim=True)
    is_candidate = torch.arange(slots, device=scores.device) < candidate.sum(-1, keepdim=True)
    return (enough & is_candidate).sum(-1, keepdim=True)
