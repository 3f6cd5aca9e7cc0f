# SPDX-License-Identifier: Apache-2.0
"""Everything is kept and read, over the int8 cache: what the other methods are measured against."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor

from .interface import BlockSelector

if TYPE_CHECKING:
    from sals.kept.layer import LayerKv


@dataclasses.dataclass(frozen=True)
class Dense(BlockSelector):
    """Reads every block; a budget is refused."""

    name: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        """Refuse what would mean less than everything."""
        super().__post_init__()
        self._require(
            self.budget is None and not self.coverage,
            f"budget and coverage must not be given, got {self.budget} and {self.coverage}",
        )

    def block_scores(self, kv: LayerKv, query: Tensor, seen: Tensor, scale: float) -> None:
        """Read every block."""
