# SPDX-License-Identifier: Apache-2.0
"""The blocks that truly get the most attention: the best that any selector of blocks could do."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from .interface import BlockSelector

if TYPE_CHECKING:
    from sals.kept.layer import LayerKv


@dataclasses.dataclass(frozen=True)
class Oracle(BlockSelector):
    """Scores a block by the attention its tokens get, summed over the query heads of the group.

    Reads every key to choose, so it saves nothing; it says what a better score could win.
    """

    name: ClassVar[str] = "oracle"

    def block_scores(self, kv: LayerKv, query: Tensor, seen: Tensor, scale: float) -> Tensor:
        """Log-sum-exp over block and group of the log weights."""
        key = kv.keys()
        rows, s_q, group, _ = query.shape
        logits = torch.bmm(query.flatten(1, 2).float() * scale, key.transpose(1, 2))
        logits = logits.view(rows, s_q, group, -1)
        hidden = torch.arange(key.shape[1], device=key.device) >= seen[..., None]
        logits.masked_fill_(hidden[:, :, None], -math.inf)
        log_weights = logits - logits.logsumexp(-1, keepdim=True).clamp(min=torch.finfo().min)
        padded = torch.nn.functional.pad(log_weights, (0, -key.shape[1] % self.block_size), value=-math.inf)
        return padded.unflatten(-1, (-1, self.block_size)).logsumexp((2, 4))
