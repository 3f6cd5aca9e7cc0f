# SPDX-License-Identifier: Apache-2.0
"""A model's own rotary embedding, for methods that number positions anew."""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .modules import attention_modules


class Rotary:
    """RoPE as the model applies it.

    Parameters
    ----------
    model : PreTrainedModel
        A model with a module ``rotary_emb`` whose attention applies ``apply_rotary_pos_emb``.

    Raises
    ------
    ValueError
        If the model has no such embedding.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        module = sys.modules[type(attention_modules(model)[0]).__module__]
        apply = getattr(module, "apply_rotary_pos_emb", None)
        found = [child for name, child in model.named_modules() if name.split(".")[-1] == "rotary_emb"]
        if apply is None or len(found) != 1:
            raise ValueError(
                "sals.attach: model must have one rotary_emb and apply_rotary_pos_emb for rolling positions, "
                f"got {type(model).__name__} without them"
            )
        self._apply = apply
        self._embedding: nn.Module = found[0]
        self._table: tuple[Tensor, Tensor] | None = None

    def at(self, positions: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return cos and sin at positions [batch, s_q], in the dtype of `like`."""
        return self._embedding(like, positions)

    def rotate(self, keys: Tensor) -> Tensor:
        """Rotate plain keys [rows, n, head_dim], float32, to positions 0 to n - 1."""
        n = keys.shape[1]
        if self._table is None or self._table[0].shape[1] < n:
            positions = torch.arange(max(n, 16), device=keys.device)[None]
            self._table = self._embedding(keys, positions)
        cos, sin = (table[:, :n] for table in self._table)
        rotated = self._apply(keys[:, None], keys[:, None], cos, sin)[1]
        return rotated[:, 0]
