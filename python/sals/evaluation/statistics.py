# SPDX-License-Identifier: Apache-2.0
"""Means with confidence intervals, of segments of a text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import torch
from torch import Tensor

# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom; 1.96 beyond the last, rounded up.
_T95 = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
    2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
)  # fmt: skip
_T95_BEYOND = 2.04

SEGMENT = 32
"""Tokens of a segment. Neighbouring tokens are alike, so segments, not tokens, count as independent."""


@dataclasses.dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % confidence interval; infinite for a single value."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Mean of independent values.

        Raises
        ------
        ValueError
            If there is no value.
        """
        n = len(values)
        if not n:
            raise ValueError("sals eval: a mean must be of at least one value, got none")
        mean = math.fsum(values) / n
        if n == 1:
            return cls(mean, math.inf)
        variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
        quantile = _T95[n - 2] if n - 2 < len(_T95) else _T95_BEYOND
        return cls(mean, quantile * math.sqrt(variance / n))

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half


def segments(values: Tensor) -> list[float]:
    """Means of consecutive segments of a vector; the last may be shorter."""
    return [float(part.double().mean()) for part in values.split(SEGMENT)]


def kl_and_excess(dense: Tensor, log_p: Tensor, targets: Tensor) -> tuple[list[float], list[float]]:
    """Compare predictions, per segment.

    Parameters
    ----------
    dense, log_p : Tensor, shape (tokens, vocabulary)
        Log probabilities of the dense model and of a method.
    targets : Tensor[int64], shape (tokens,)
        What came next.

    Returns
    -------
    kl : list of float
        KL(dense || method), nats per token.
    excess : list of float
        Negative log likelihood beyond the dense model's.
    """
    kl = torch.cat(
        [(d.exp() * (d - p)).sum(-1) for d, p in zip(dense.split(64), log_p.split(64), strict=True)]
    )
    excess = (dense - log_p).gather(1, targets[:, None])[:, 0]
    return segments(kl), segments(excess)


def verdict(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Say who is better, smaller being better: "wins", "loses" or "ties", by the paired differences."""
    difference = Mean.of([a - b for a, b in zip(ours, theirs, strict=True)])
    if difference.high < 0:
        return "wins"
    return "loses" if difference.low > 0 else "ties"
