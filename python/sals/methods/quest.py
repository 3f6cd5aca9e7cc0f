# SPDX-License-Identifier: Apache-2.0
"""Quest: an upper bound of every logit of a block, from the block's smallest and largest channels."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from .interface import BlockSelector

if TYPE_CHECKING:
    from sals.kept.layer import LayerKv


@dataclasses.dataclass(frozen=True)
class Quest(BlockSelector):
    """Scores a block by ``max over the group of sum_c max(q_c * low_c, q_c * high_c)`` (arXiv 2406.10774).

    ``low`` and ``high`` are stored in float16, two numbers a channel and block. The published code has a
    query head for each KV head; with groups the largest bound of the group decides.
    """

    name: ClassVar[str] = "quest"
    keeps_bounds: ClassVar[bool] = True

    def block_scores(self, kv: LayerKv, query: Tensor, seen: Tensor, scale: float) -> Tensor:
        """Return the bounds, in logits."""
        low, high = (bound.float() for bound in kv.bounds())
        rows, s_q, group, _ = query.shape
        flat = query.flatten(1, 2).float() * scale
        bound = torch.bmm(flat.clamp(max=0), low.transpose(1, 2))
        bound += torch.bmm(flat.clamp(min=0), high.transpose(1, 2))
        return bound.view(rows, s_q, group, -1).amax(2)
