# SPDX-License-Identifier: Apache-2.0
"""STCA: keep the tokens that cover a share of the attention, as many as that takes in each head."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import torch
from torch import Tensor

from .interface import Evictor, Held
from .ranking import first_and_newest, rank
from .scores import REDUCTIONS, Scorer

SCORES = ("attention", "sketch")
LOW_SCORES = ("evict", "demote")


@dataclasses.dataclass(frozen=True)
class Stca(Evictor):
    """Keeps, per request and KV head, the best tokens until they hold `coverage` of the scores.

    One rule: sinks and the newest tokens are kept; then, best first, a token is kept while the share of the
    tokens before it, sinks and newest included, is below `coverage`. Scores are moving averages of the
    attention that a token receives, or of its sketched attention.

    Parameters
    ----------
    budget : int
        Most tokens that a row keeps (the article's max_keep), before the `interval` new ones.
    coverage : float
        Share of the scores; 1 keeps everything up to the budget. :func:`sals.methods.tuning.find_coverage`
        finds the one that meets a mean budget.
    min_keep : int
        Least tokens that a row keeps.
    recent : int
        Newest tokens that are always kept.
    interval : int
        New tokens after which the cache is cut again.
    decay : float
        What remains of a score after each query token.
    scores : {"attention", "sketch"}
        Score with the keys, or with random sketches of ``head_dim / ratio`` numbers that are stored beside
        them.
    ratio, seed : int
        Of the sketch.
    low : {"evict", "demote"}
        Drop tokens of low scores, or store them in int4 from then on.
    reduce : {"mean", "max"}
        Over the query heads of a KV head.
    """

    name: ClassVar[str] = "stca"
    sinks: int = 4
    interval: int = 64
    coverage: float = 0.9
    min_keep: int = 0
    recent: int = 32
    decay: float = 0.99
    scores: str = "attention"
    ratio: int = 8
    seed: int = 0
    low: str = "evict"
    reduce: str = "mean"

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        for name in ("min_keep", "recent", "seed"):
            self._require_count(name)
        self._require_share("coverage", self.coverage)
        self._require_share("decay", self.decay)
        self._require_room("recent", self.recent)
        self._require(
            self.min_keep <= self.budget,
            f"min_keep must be at most budget = {self.budget}, got {self.min_keep}",
        )
        for name, words in (("scores", SCORES), ("low", LOW_SCORES), ("reduce", REDUCTIONS)):
            value = getattr(self, name)
            self._require(value in words, f"{name} must be one of {', '.join(words)}, got {value!r}")
        self._require(
            self.ratio in (4, 8, 16, 32), f"ratio must be one of (4, 8, 16, 32), got {self.ratio!r}"
        )

    def _require_room(self, name: str, tokens: int) -> None:
        """Check it, but for the interval, whose tokens come on top of the budget."""
        if name != "interval":
            super()._require_room(name, tokens)

    @property
    def demotes(self) -> bool:
        """Whether low scores are stored in int4 instead of dropped."""
        return self.low == "demote"

    def scorer(self) -> Scorer:
        """Score by the attention received, or by its sketch."""
        ratio = self.ratio if self.scores == "sketch" else 0
        return Scorer(decay=float(self.decay), reduce=self.reduce, sketch_ratio=ratio, seed=self.seed)

    def room(self, incoming: Tensor) -> Tensor:
        """No room is made inside the budget: a row holds what it keeps and `interval` new tokens."""
        return torch.zeros_like(incoming)

    def due(self, lengths: Tensor, kept: Tensor, incoming: Tensor) -> Tensor:
        """Cut rows that would hold more than `interval` tokens beyond what they kept at the last cut."""
        return lengths + incoming > kept + self.interval

    def capacity(self, counts: Tensor) -> Tensor:
        """Slots for what is kept and `interval` new tokens."""
        return counts + self.interval

    def keep(self, held: Held, room: Tensor) -> Tensor:
        """Keep what covers `coverage`, between `min_keep` and `budget` tokens of a row."""
        assert held.scores is not None
        return self.cover(held.scores, held.lengths).kept(float(self.coverage), self.min_keep, self.budget)

    def cover(self, scores: Tensor, lengths: Tensor) -> Cover:
        """Put rows of scores (rows, width) into the order of the rule."""
        width = scores.shape[1]
        visible = torch.arange(width, device=lengths.device) < lengths[:, None]
        return Cover(scores, visible, first_and_newest(lengths, width, self.sinks, self.recent))


class Cover:
    """Rows of scores in the order of STCA's rule; any coverage is then a prefix.

    Parameters
    ----------
    scores : Tensor, shape (rows, width)
        Not negative; any scale. A row without any score counts all tokens alike.
    visible, protected : Tensor[bool], shape (rows, width)
        Tokens that exist; those kept in any case.
    """

    def __init__(self, scores: Tensor, visible: Tensor, protected: Tensor) -> None:
        values = torch.where(visible, scores.double().nan_to_num(nan=0.0), 0.0)
        empty = values.sum(1, keepdim=True) <= 0
        values = torch.where(empty & visible, 1.0, values)
        candidate = visible & ~protected
        self._protected = protected
        self._place = rank(values, candidate)
        slots = scores.shape[1]
        ordered = torch.zeros_like(values)
        ordered.scatter_add_(1, self._place.clamp(max=max(slots - 1, 0)), values * candidate)
        guarded = (values * protected).sum(1, keepdim=True)
        self._before = guarded + ordered.cumsum(1) - ordered
        self._total = values.sum(1, keepdim=True)
        self._available = candidate.sum(1, keepdim=True)
        self._fixed = protected.sum(1, keepdim=True)

    def counts(self, coverage: float, min_keep: int, max_keep: int) -> Tensor:
        """Tokens that rows keep, int64 (rows,).

        A candidate is kept while the score before it is below ``coverage`` times the row's sum; a coverage
        of 1 keeps every token. At least `min_keep` and at most `max_keep` tokens of a row are kept,
        protected ones even above.
        """
        covering = (self._before < coverage * self._total).sum(1, keepdim=True)
        count = self._available if coverage >= 1 else covering.minimum(self._available)
        count = torch.maximum(count, min_keep - self._fixed).minimum(self._available)
        return (self._fixed + count.minimum(max_keep - self._fixed).clamp(min=0))[:, 0]

    def kept(self, coverage: float, min_keep: int, max_keep: int) -> Tensor:
        """Return which tokens those are, bool (rows, width)."""
        count = self.counts(coverage, min_keep, max_keep)[:, None] - self._fixed
        return self._protected | (self._place < count)
