# SPDX-License-Identifier: Apache-2.0
"""Measured variants: which go on, which is chosen, and what the report says about each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from .evaluate import Scorer, TokenScores
from .variants import Variant


@dataclasses.dataclass
class Entry:
    """A variant with what was measured of it.

    Parameters
    ----------
    variant : Variant
        The index.
    n_idx : int
        Its number of index heads.
    scorer : Scorer
        What scores blocks with it.
    mass : dict of Fraction to Tensor
        Attention mass kept by each layer, by budget.
    scores : dict of Fraction to TokenScores
        Scores of a sparse run, by budget; finalists only.
    """

    variant: Variant
    n_idx: int
    scorer: Scorer
    mass: dict[Fraction, Tensor]
    scores: dict[Fraction, TokenScores] = dataclasses.field(default_factory=dict)

    @property
    def mean_mass(self) -> float:
        """Mean over budgets and layers."""
        return float(torch.stack(list(self.mass.values())).mean())

    @property
    def mean_kl(self) -> float:
        """Mean over budgets and tokens."""
        return float(torch.stack([scores.kl for scores in self.scores.values()]).mean())

    @property
    def index_bytes(self) -> int:
        """Bytes a decode step reads per token and layer: int4 codes and a fp32 scale per index head."""
        return self.n_idx * (self.variant.rank // 2 + 4)


def choose_finalists(entries: Sequence[Entry], count: int) -> list[Entry]:
    """Return the best of each kind by mass, and the ``count`` best that differ in more than their basis."""
    ordered = sorted(entries, key=lambda entry: -entry.mean_mass)
    indexes: dict[tuple[bool, bool, int], Entry] = {}
    kinds: dict[tuple[bool, bool], Entry] = {}
    for entry in ordered:
        variant = entry.variant
        indexes.setdefault((variant.rotated, variant.joint, variant.rank), entry)
        kinds.setdefault((variant.rotated, variant.joint), entry)
    wanted = list(indexes.values())[:count] + list(kinds.values())
    return [entry for entry in ordered if any(entry is other for other in wanted)]


def cheapest_good(entries: Sequence[Entry], tolerance: float) -> Entry:
    """Return the entry of fewest index bytes among those with a KL within the tolerance of the lowest."""
    limit = _kl_limit(entries, tolerance)
    good = [entry for entry in entries if entry.scores and entry.mean_kl <= limit]
    return min(good, key=lambda entry: (entry.index_bytes, entry.mean_kl))


def make_report(
    entries: Sequence[Entry], chosen: Entry, dense: TokenScores, tolerance: float
) -> tuple[dict[str, Any], ...]:
    """Return one dictionary of JSON values per variant; budgets are strings."""
    limit = _kl_limit(entries, tolerance)
    return tuple(
        {
            "name": entry.variant.name,
            **dataclasses.asdict(entry.variant),
            "index_bytes": entry.index_bytes,
            "chosen": entry is chosen,
            "reason": _reason(entry, chosen, limit),
            "mass": {str(keep): float(mass.mean()) for keep, mass in entry.mass.items()},
            "layer_mass": {
                str(keep): [round(float(x), 4) for x in mass] for keep, mass in entry.mass.items()
            },
            **quality(entry.scores, dense),
        }
        for entry in entries
    )


def quality(scores: dict[Fraction, TokenScores], dense: TokenScores) -> dict[str, dict[str, float]]:
    """Return mean KL and perplexity relative to dense, by budget."""
    return {
        "kl": {str(keep): float(of.kl.mean()) for keep, of in scores.items()},
        "relative_perplexity": {
            str(keep): float((of.nll - dense.nll).mean().exp()) for keep, of in scores.items()
        },
    }


def joined(scores: Sequence[TokenScores]) -> TokenScores:
    """Return the token scores of several places as one."""
    return TokenScores(torch.cat([s.nll for s in scores]), torch.cat([s.kl for s in scores]))


def _kl_limit(entries: Sequence[Entry], tolerance: float) -> float:
    return min(entry.mean_kl for entry in entries if entry.scores) * (1 + tolerance)


def _reason(entry: Entry, chosen: Entry, limit: float) -> str:
    """Say why a variant was chosen or not."""
    if entry is chosen:
        return f"fewest index bytes with a mean KL of at most {limit:.4f}"
    if not entry.scores:
        return "kept less attention mass than the finalists"
    if entry.mean_kl > limit:
        return f"mean KL {entry.mean_kl:.4f} above {limit:.4f}"
    return "more index bytes than the chosen one, or as many and a higher KL"
