# SPDX-License-Identifier: Apache-2.0
"""H2O: the tokens that have received the most attention so far, and a window."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from torch import Tensor

from .interface import Evictor, Held
from .ranking import first_and_newest, rank
from .scores import REDUCTIONS, Scorer


@dataclasses.dataclass(frozen=True)
class H2O(Evictor):
    """Keeps heavy hitters per request and KV head (arXiv 2306.14048).

    Each token accumulates the attention weights it receives, in float32. They are recomputed from the
    log-sum-exp that the attention returns, so no table of weights exists.

    Parameters
    ----------
    recent : int, optional
        Newest tokens that are never evicted; half the budget by default, 0 is legal. The others, less the
        sinks, are the heavy hitters.
    decay : float
        What remains of a score after each query token; 1, as published, favours old tokens.
    normalise : bool
        Rank by score per query that could see the token, which takes that favour away.
    reduce : {"mean", "max"}
        Over the query heads of a KV head.
    """

    name: ClassVar[str] = "h2o"
    recent: int | None = None
    decay: float = 1.0
    normalise: bool = False
    reduce: str = "mean"

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if self.recent is None:
            object.__setattr__(self, "recent", min(self.budget // 2, self.budget - self.sinks))
        self._require_count("recent")
        self._require_room("recent", self._recent)
        self._require_share("decay", self.decay)
        self._require(self.reduce in REDUCTIONS, f"reduce must be mean or max, got {self.reduce!r}")

    @property
    def _recent(self) -> int:
        assert self.recent is not None
        return self.recent

    def scorer(self) -> Scorer | None:
        """Score by the attention received."""
        return Scorer(decay=float(self.decay), reduce=self.reduce)

    def keep(self, held: Held, room: Tensor) -> Tensor:
        """Keep sinks, the newest, and the heaviest of the others; of equals the older."""
        assert held.scores is not None
        limit = self.budget - room
        newest = (self._recent - room).minimum(limit - self.sinks).clamp(min=0)
        protected = first_and_newest(held.lengths, held.width, self.sinks, newest)
        scores = held.scores / held.ages if self.normalise else held.scores
        heavy = (limit - protected.sum(1)).clamp(min=0).minimum(held.lengths)
        return protected | (rank(scores, held.visible & ~protected) < heavy[:, None])
