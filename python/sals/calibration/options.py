# SPDX-License-Identifier: Apache-2.0
"""How a calibration is run."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from .scoring import Budget
from .variants import Variant


@dataclasses.dataclass(frozen=True)
class CalibrationOptions:
    """Sizes and rules of a calibration. The defaults take about a minute for a 135M model on two CPU cores.

    Parameters
    ----------
    keeps : tuple of Fraction
        Budgets to measure, as fractions of the candidate blocks.
    budget : Budget
        Block size, sink blocks and tail blocks.
    variants : tuple of Variant, optional
        Indexes to compare; by default those of :func:`sals.calibration.default_variants`.
    windows, window_tokens : int
        The projections come from ``windows`` windows of ``window_tokens`` tokens of the text's first half.
    max_seq_len : int, optional
        Positions that the windows are spread over; by default the model's limit.
    offsets, context, eval_tokens : int
        Variants are measured at ``offsets`` places of the second half: ``eval_tokens`` after ``context``.
    finalists : int
        Variants with the largest attention mass whose KL is measured too. The best of each kind (after or
        before RoPE, per head or joint) is always among them.
    tolerance : float
        An index of fewer bytes is chosen if its KL exceeds the lowest by no more than this share.
    dense_candidates : int
        Layers with the least attention mass that are tried as dense layers.
    dense_gain : float
        A layer is left dense if that lowers the KL at least by this share.
    """

    keeps: tuple[Fraction, ...] = (Fraction(1, 4), Fraction(1, 8))
    budget: Budget = dataclasses.field(default_factory=Budget)
    variants: tuple[Variant, ...] | None = None
    windows: int = 8
    window_tokens: int = 512
    max_seq_len: int | None = None
    offsets: int = 1
    context: int = 4096
    eval_tokens: int = 128
    finalists: int = 4
    tolerance: float = 0.1
    dense_candidates: int = 6
    dense_gain: float = 0.2

    def __post_init__(self) -> None:
        """Check every setting."""
        for keep in self.keeps:
            _require(0 < keep <= 1, f"keeps must be in (0, 1], got {keep}")
        _require(len(self.keeps) > 0, "keeps must name at least one budget")
        for name in ("windows", "window_tokens", "offsets", "context", "eval_tokens", "finalists"):
            _require(getattr(self, name) > 0, f"{name} must be positive, got {getattr(self, name)}")
        skipped = self.budget.sink_blocks * self.budget.block_size
        _require(
            self.window_tokens > skipped,
            f"window_tokens must exceed the {skipped} tokens of the sink blocks, got {self.window_tokens}",
        )
        forced = (self.budget.sink_blocks + self.budget.tail_blocks) * self.budget.block_size
        _require(
            self.context > forced,
            f"context must exceed the {forced} tokens that sink and tail blocks keep, got {self.context}",
        )

    def settings(self) -> dict[str, object]:
        """Return everything but the variants as JSON values."""
        facts = dataclasses.asdict(self)
        del facts["variants"]
        return facts | {"keeps": [str(keep) for keep in self.keeps]}


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(f"sals.calibrate: {message}")
