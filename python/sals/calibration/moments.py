# SPDX-License-Identifier: Apache-2.0
"""Second moments of keys, streamed over a calibration text."""

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
    """Second moment of the keys of one layer, joint over heads: width = n_kv * head_dim, float64.

    Its diagonal blocks are the moments of the heads.
    """

    count: int
    outer: Tensor

    @classmethod
    def zeros(cls, width: int) -> Moments:
        """Return the moments of no token."""
        return cls(0, torch.zeros(width, width, dtype=torch.float64))

    def add(self, key: Tensor) -> None:
        """Add keys, ``[tokens, n_kv, head_dim]``."""
        flat = key.flatten(1).float()
        self.count += flat.shape[0]
        self.outer += (flat.T @ flat).double().cpu()

    def second_moment(self) -> Tensor:
        """Return E[k kᵀ], shape (width, width)."""
        return self.outer / self.count


def collect_moments(
    model: PreTrainedModel, windows: Sequence[Tensor], max_seq_len: int, skip: int
) -> dict[bool, list[Moments]]:
    """Run the model over windows of a text and return the moments per layer, by ``rotated``.

    RoPE makes attention depend on distances alone, so every window is placed at other positions, evenly over
    ``max_seq_len``: the moments of rotated keys then cover all positions at the price of short windows.

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
        moments[True][call.layer].add(call.key[skip:])
        moments[False][call.layer].add(call.plain_key[skip:])
        return causal_attention(call)

    with torch.inference_mode(), attention_replaced(model, record):
        for index, window in enumerate(windows):
            last_start = max(max_seq_len - window.shape[0], 0)
            start = last_start * index // max(len(windows) - 1, 1)
            positions = torch.arange(start, start + window.shape[0], device=window.device)
            model(window[None], position_ids=positions[None], use_cache=False, logits_to_keep=1)
    return moments
