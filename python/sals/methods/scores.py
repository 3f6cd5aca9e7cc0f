# SPDX-License-Identifier: Apache-2.0
"""Attention mass that tokens receive, summed over queries in chunks: no table of weights is ever made."""

from __future__ import annotations

import dataclasses
import math

import torch
from torch import Tensor

QUERY_CHUNK = 128
REDUCTIONS = ("mean", "max")

# Queries whose weight has decayed below this do not change a float32 sum.
NEGLIGIBLE = 2.0**-24


def received_mass(
    query: Tensor,
    key: Tensor,
    seen: Tensor,
    scale: float,
    *,
    lse: Tensor | None = None,
    decay: float = 1.0,
    reduce: str = "mean",
) -> Tensor:
    """Sum the attention that each key receives, ``sum_s decay^(age of s) p[s, j]``.

    ``p[s, j] = exp(scale * q_s k_j - lse_s)`` in float32, whatever the dtypes; `QUERY_CHUNK` queries at a
    time, so memory does not grow with the square of the length.

    Parameters
    ----------
    query : Tensor, shape (rows, s_q, group, head_dim)
        Queries that share the keys of a row.
    key : Tensor, shape (rows, keys, head_dim)
        Keys in the order in which they came.
    seen : Tensor[int64], shape (rows, s_q)
        Leading keys that a query sees; 0 for padding, which must follow the real queries.
    scale : float
        Softmax scale.
    lse : Tensor[float32], shape (rows, s_q, group), optional
        Log-sum-exp of each query's logits, as the attention returned it; computed here by default.
    decay : float
        Weight of a query relative to the next one; 1 sums them all alike.
    reduce : {"mean", "max"}
        Over the query heads of a group.

    Returns
    -------
    Tensor[float32], shape (rows, keys)
        Finite for finite inputs; a query that sees nothing adds nothing.
    """
    rows, s_q, group, _ = query.shape
    mass = torch.zeros(rows, key.shape[1], device=key.device)
    if not s_q or not key.shape[1]:
        return mass
    age = (seen > 0).sum(1, keepdim=True) - 1 - torch.arange(s_q, device=key.device)
    weight = torch.where(seen > 0, decay ** age.clamp(min=0).float(), 0.0)
    first = _first_that_counts(s_q, int((seen > 0).sum(1).min()), decay)
    for begin in range(first, s_q, QUERY_CHUNK):
        part = slice(begin, min(begin + QUERY_CHUNK, s_q))
        width = int(seen[:, part].max())
        logits = _logits(query[:, part], key[:, :width], scale)
        hidden = torch.arange(width, device=key.device) >= seen[:, part, None]
        logits.masked_fill_(hidden[:, :, None], -math.inf)
        if lse is None:
            shares = logits.softmax(-1).nan_to_num_(nan=0.0)
        else:
            total = lse[:, part].masked_fill(lse[:, part] == -math.inf, 0.0)
            shares = logits.sub_(total[..., None]).exp_()
        if reduce == "max":
            shares = shares.amax(2)
            weights = weight[:, part]
        else:
            shares = shares.flatten(1, 2)
            weights = (weight[:, part] / group).repeat_interleave(group, 1)
        mass[:, :width] += torch.bmm(weights[:, None], shares)[:, 0]
    return mass


def _first_that_counts(s_q: int, fewest: int, decay: float) -> int:
    """First query whose weight is not negligible in the row with the fewest queries."""
    if decay >= 1:
        return 0
    lasting = math.ceil(math.log(NEGLIGIBLE) / math.log(decay)) if decay > 0 else 1
    return max(min(fewest, s_q) - lasting, 0)


def _logits(query: Tensor, key: Tensor, scale: float) -> Tensor:
    """Return float32 logits [rows, s_q, group, keys], whatever the dtypes."""
    rows, s_q, group, dim = query.shape
    flat = (query.float() * scale).reshape(rows, s_q * group, dim)
    return torch.bmm(flat, key.float().transpose(1, 2)).view(rows, s_q, group, -1)


@dataclasses.dataclass(frozen=True)
class Scorer:
    """Scores tokens by the attention they receive.

    Parameters
    ----------
    decay : float
        What remains of a score after each query.
    reduce : {"mean", "max"}
        Over the query heads of a group.
    sketch_ratio : int
        0 scores with the keys themselves; else with sketches of ``head_dim / sketch_ratio`` numbers.
    seed : int
        Of the sketch.
    """

    decay: float = 1.0
    reduce: str = "mean"
    sketch_ratio: int = 0
    seed: int = 0

    def features(self, x: Tensor) -> Tensor:
        """Return what scores are made of: x itself, or its sketch in the last axis."""
        if not self.sketch_ratio:
            return x
        from .sketch import gaussian_projection

        return x.float() @ gaussian_projection(x.shape[-1], self.sketch_ratio, self.seed).to(x.device)

    def sketch_width(self, head_dim: int) -> int:
        """Numbers of a stored sketch; 0 if scores are made with the stored keys."""
        return head_dim // self.sketch_ratio if self.sketch_ratio else 0

    def mass(self, query: Tensor, key: Tensor, seen: Tensor, scale: float, lse: Tensor | None) -> Tensor:
        """Mass that keys (or their sketches) receive; see :func:`received_mass`."""
        return received_mass(
            self.features(query),
            key,
            seen,
            scale,
            lse=None if self.sketch_ratio else lse,
            decay=self.decay,
            reduce=self.reduce,
        )
