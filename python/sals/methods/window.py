# SPDX-License-Identifier: Apache-2.0
"""A plain window: the newest tokens and no sinks. It is here to show why sinks matter."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from torch import Tensor

from .interface import Evictor, Held
from .ranking import first_and_newest

POSITIONS = ("original", "rolling")


@dataclasses.dataclass(frozen=True)
class Window(Evictor):
    """Keeps the newest tokens.

    Parameters
    ----------
    positions : {"original", "rolling"}
        ``original`` leaves every key at the position it had. ``rolling`` keeps keys before RoPE and numbers
        them anew from 0 for each pass, so positions never exceed the budget, but in a prompt and in a piece
        of one that is read on top of the cache.
    """

    name: ClassVar[str] = "window"
    positions: str = "original"

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._require(
            self.positions in POSITIONS, f"positions must be original or rolling, got {self.positions!r}"
        )
        if self.name == "window":
            self._require(self.sinks == 0, f"sinks must be 0, got {self.sinks}; use streaming")

    def keep(self, held: Held, room: Tensor) -> Tensor:
        """Keep the sinks, if any, and the newest tokens."""
        newest = (self.budget - room - self.sinks).clamp(min=0)
        return first_and_newest(held.lengths, held.width, self.sinks, newest)
