# SPDX-License-Identifier: Apache-2.0
"""Second moments of keys and index queries, streamed over a calibration text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from .artifact import ModelFingerprint
from .probe import AttentionCall, attention_replaced, causal_attention


@dataclasses.dataclass
class Moments:
    """Sums over tokens for one layer, joint over heads: width = n_kv * head_dim, float64.

    The query of an index head is the mean over its group of query heads, as ``project_query`` takes it.
    """

    count: int
    key_sum: Tensor
    key_outer: Tensor
    query_outer: Tensor

    @classmethod
    def zeros(cls, width: int) -> Moments:
        """Return the moments of no token."""
        square = torch.zeros(width, width, dtype=torch.float64)
        return cls(0, torch.zeros(width, dtype=torch.float64), square, square.clone())

    def add(self, key: Tensor, query: Tensor) -> None:
        """Add tokens: ``key`` [tokens, n_kv, head_dim] and ``query`` [tokens, n_q, head_dim]."""
        query = group_mean(query, key.shape[1])
        key, query = key.flatten(1).float(), query.flatten(1).float()
        self.count += key.shape[0]
        self.key_sum += key.double().sum(0).cpu()
        self.key_outer += (key.T @ key).double().cpu()
        self.query_outer += (query.T @ query).double().cpu()

    def key_second_moment(self) -> Tensor:
        """Return E[k kᵀ], shape (width, width)."""
        return self.key_outer / self.count

    def key_covariance(self) -> Tensor:
        """Return the covariance of the keys, shape (width, width): a shift of all keys changes no ranking."""
        mean = self.key_sum / self.count
        return self.key_second_moment() - torch.outer(mean, mean)

    def query_second_moment(self) -> Tensor:
        """Return E[q qᵀ] of the group-mean queries, shape (width, width)."""
        return self.query_outer / self.count


def group_mean(query: Tensor, n_kv: int) -> Tensor:
    """Average the query heads of each KV head: [tokens, n_q, head_dim] to [tokens, n_kv, head_dim]."""
    tokens, n_q, head_dim = query.shape
    return query.float().view(tokens, n_kv, n_q // n_kv, head_dim).mean(2)


def collect_moments(
    model: PreTrainedModel, windows: Sequence[Tensor], max_seq_len: int, skip: int
) -> dict[bool, list[Moments]]:
    """Run the model over windows of a text and return the moments per layer, by ``rotated``.

    RoPE makes attention depend on distances alone, so every window is placed at other positions, evenly over
    ``max_seq_len``: the moments of rotated keys then cover all positions at the price of short windows. (With
    positions up to 4,096 only, low-rank bases lose much of their worth beyond.)

    Parameters
    ----------
    model : PreTrainedModel
        The model.
    windows : sequence of Tensor[int64], shape (tokens,)
        Token windows.
    max_seq_len : int
        Positions to cover.
    skip : int
        Leading tokens of a window that are left out: they are attention sinks, unlike all other keys, and a
        selection with sink blocks never ranks them.
    """
    facts = ModelFingerprint.of(model.config)
    width = facts.n_kv * facts.head_dim
    moments = {rotated: [Moments.zeros(width) for _ in range(facts.n_layers)] for rotated in (False, True)}

    def record(call: AttentionCall) -> Tensor:
        moments[True][call.layer].add(call.key[skip:], call.query[skip:])
        moments[False][call.layer].add(call.plain_key[skip:], call.plain_query[skip:])
        return causal_attention(call)

    with torch.inference_mode(), attention_replaced(model, record):
        for index, window in enumerate(windows):
            last_start = max(max_seq_len - window.shape[0], 0)
            start = last_start * index // max(len(windows) - 1, 1)
            positions = torch.arange(start, start + window.shape[0], device=window.device)
            model(window[None], position_ids=positions[None], use_cache=False, logits_to_keep=1)
    return moments
