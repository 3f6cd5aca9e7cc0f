# SPDX-License-Identifier: Apache-2.0
"""From a budget to STCA's coverage: the inverse mapping, by bisection on measured retention."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from .stca import Cover, Stca

USUAL_COVERAGE = (0.8, 0.95)
"""The range that the article recommends."""

LARGEST_VARIATION = 0.5
"""Standard deviation over mean of the kept tokens from which a warning is given."""

STEPS = 24


class CoverageWarning(UserWarning):
    """A coverage that meets the budget but is likely to disappoint."""


@dataclasses.dataclass(frozen=True)
class CoverageFit:
    """The coverage that meets a budget, and what it keeps.

    Parameters
    ----------
    coverage : float
        The share p.
    counts : Tensor[int64], shape (layers, rows)
        Tokens that each layer and row (request and KV head) keeps.
    advice : tuple of str
        What speaks against this coverage.
    """

    coverage: float
    counts: Tensor
    advice: tuple[str, ...]

    @property
    def mean(self) -> float:
        """Mean of the kept tokens over layers and rows."""
        return float(self.counts.double().mean())

    @property
    def variance(self) -> float:
        """Their variance."""
        return float(self.counts.double().var(unbiased=False))


def find_coverage(method: Stca, scores: Sequence[Tensor], budget: float) -> CoverageFit:
    """Find the coverage at which rows keep `budget` tokens on average.

    Parameters
    ----------
    method : Stca
        Its sinks, recent, min_keep and budget (the bound on each row) hold; its coverage does not matter.
    scores : sequence of Tensor[float32], shape (rows, tokens)
        Scores of the tokens of a prompt, one tensor a layer: `LayerKv.prompt_scores` makes them.
    budget : float
        Tokens to keep on average.

    Returns
    -------
    CoverageFit
        The largest coverage that stays within the budget, to 2**-24.

    Raises
    ------
    ValueError
        If even a coverage of 0 keeps more than the budget, or the scores are of other shapes.

    Warns
    -----
    CoverageWarning
        If heads keep very different numbers of tokens (raise min_keep), if the coverage is outside the usual
        range, or if the whole text fits the budget.
    """
    shapes = [list(layer.shape) for layer in scores]
    if not shapes or any(len(shape) != 2 or shape != shapes[0] for shape in shapes):
        raise ValueError(
            f"sals.methods.tuning: scores must be tensors of one shape [rows, tokens], got {shapes[:3]}"
        )
    lengths = [torch.full((len(layer),), layer.shape[1], device=layer.device) for layer in scores]
    covers = [method.cover(layer, length) for layer, length in zip(scores, lengths, strict=True)]

    def counts(coverage: float) -> Tensor:
        return torch.stack([_counts(cover, coverage, method) for cover in covers])

    low, high = 0.0, 1.0
    least = float(counts(low).double().mean())
    if least > budget:
        raise ValueError(
            f"sals.methods.tuning: budget must be at least {least:.0f} tokens, which sinks, recent and "
            f"min_keep keep at any coverage, got {budget:g}"
        )
    if float(counts(high).double().mean()) <= budget:
        low = 1.0
    else:
        for _ in range(STEPS):
            middle = (low + high) / 2
            if float(counts(middle).double().mean()) <= budget:
                low = middle
            else:
                high = middle
    fit = CoverageFit(low, counts(low), ())
    fit = dataclasses.replace(fit, advice=_advice(fit))
    for sentence in fit.advice:
        warnings.warn(sentence, CoverageWarning, stacklevel=2)
    return fit


def _counts(cover: Cover, coverage: float, method: Stca) -> Tensor:
    return cover.counts(coverage, method.min_keep, method.budget)


def _advice(fit: CoverageFit) -> tuple[str, ...]:
    low, high = USUAL_COVERAGE
    advice = []
    if fit.coverage >= 1:
        return ("The whole text fits the budget: nothing is evicted, and a longer text may need a coverage.",)
    if not low <= fit.coverage <= high:
        advice.append(
            f"The budget takes a coverage of {fit.coverage:.3f}, outside the usual {low} to {high}: "
            + ("expect a loss of quality." if fit.coverage < low else "a smaller budget may do.")
        )
    deviation = fit.variance**0.5
    if deviation > LARGEST_VARIATION * fit.mean:
        advice.append(
            f"Heads keep {fit.mean:.0f} tokens on average with a standard deviation of {deviation:.0f}: "
            "raise min_keep, or the heads with few tokens may miss what comes next."
        )
    return tuple(advice)
