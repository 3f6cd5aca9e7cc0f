# SPDX-License-Identifier: Apache-2.0
"""What a comparison found; written as JSON, so that a report can be made again without a run."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

from .statistics import Mean, verdict

SAME_BYTES = 0.02


@dataclasses.dataclass
class RowResult:
    """A row at a budget over all places.

    Parameters
    ----------
    name, budget : str
        Row, and share of the window.
    is_selector : bool
        Whether nothing is lost.
    kl, excess : list of float
        Per segment: KL(dense || method), and loss beyond dense.
    mass, cosine : list of float
        Per layer, mean over places.
    tokens_read, stored_bytes, read_bytes, resident_bytes, step_ms, coverage, variance : list of float
        One value a place: tokens that a query reads; bytes by formula at the whole window; bytes that the
        cache's tensors held; time of a step; STCA's coverage and the variance of its kept tokens.
    held : list of int
        Tokens that each layer and head held behind the prompt, of every place.
    advice : list of str
        Warnings of the coverage search.
    """

    name: str
    budget: str
    is_selector: bool
    kl: list[float]
    excess: list[float]
    mass: list[float]
    cosine: list[float]
    tokens_read: list[float]
    held: list[int]
    stored_bytes: list[float]
    read_bytes: list[float]
    resident_bytes: list[float]
    step_ms: list[float]
    coverage: list[float]
    variance: list[float]
    advice: list[str]
    places: int = 1

    def join(self, other: RowResult) -> None:
        """Add another place."""
        total = self.places + other.places
        for name in ("mass", "cosine"):
            pairs = zip(getattr(self, name), getattr(other, name), strict=True)
            mean = [(a * self.places + b * other.places) / total for a, b in pairs]
            setattr(self, name, mean)
        for field in dataclasses.fields(self):
            if field.name not in ("name", "budget", "is_selector", "mass", "cosine", "places"):
                getattr(self, field.name).extend(getattr(other, field.name))
        self.places = total

    @property
    def kl_mean(self) -> Mean:
        """KL with its interval."""
        return Mean.of(self.kl)

    @property
    def perplexity(self) -> tuple[float, float, float]:
        """Perplexity relative to dense: mean, and the ends of its interval."""
        mean = Mean.of(self.excess)
        return math.exp(mean.mean), math.exp(mean.low), math.exp(mean.high)


@dataclasses.dataclass
class NeedleResult:
    """One task of one row: mean log likelihood of the answer's tokens, and whether all were the best."""

    name: str
    budget: str
    kind: str
    depth: float
    likelihood: float
    found: bool


@dataclasses.dataclass
class Results:
    """Everything a comparison found.

    Parameters
    ----------
    about : dict
        Model, text, machine and sizes.
    memory_gib : float
        Memory that requests share.
    dense_perplexity : list of float
        The model's own, one a place.
    rows, needles, endless : list
        What was measured.
    harness : dict
        Results of lm-evaluation-harness, by row and task.
    """

    about: dict[str, Any]
    memory_gib: float
    dense_perplexity: list[float] = dataclasses.field(default_factory=list)
    rows: list[RowResult] = dataclasses.field(default_factory=list)
    needles: list[NeedleResult] = dataclasses.field(default_factory=list)
    endless: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    harness: dict[str, Any] = dataclasses.field(default_factory=dict)

    def add(self, result: RowResult) -> None:
        """Add a row of one place."""
        for row in self.rows:
            if (row.name, row.budget) == (result.name, result.budget):
                row.join(result)
                return
        self.rows.append(result)

    @property
    def budgets(self) -> list[str]:
        """Budgets of the sparse rows, in the order in which they ran."""
        return list(dict.fromkeys(row.budget for row in self.rows if row.name != "dense"))

    def at(self, budget: str) -> list[RowResult]:
        """Rows of a budget, the dense one first."""
        return [row for row in self.rows if row.name == "dense" or row.budget == budget]

    def verdicts(self, ours: str, budget: str) -> dict[str, str]:
        """Say how one row does against each other one at a budget, by KL: wins, ties or loses."""
        rows = {row.name: row for row in self.at(budget)}
        if ours not in rows:
            return {}
        return {
            name: verdict(rows[ours].kl, row.kl) for name, row in rows.items() if name not in (ours, "dense")
        }

    def needle_verdicts(self, ours: str, budget: str) -> dict[str, str]:
        """Say the same by likelihood of the needles' answers."""
        likelihoods = self.likelihoods(budget)
        if ours not in likelihoods:
            return {}
        mine = [-value for value in likelihoods[ours]]
        return {
            name: verdict(mine, [-value for value in values])
            for name, values in likelihoods.items()
            if name != ours and not name.startswith("dense")
        }

    def byte_verdicts(self, ours: str, budget: str, field: str) -> dict[str, str]:
        """Say the same by bytes (``stored_bytes``, ``read_bytes``); less than `SAME_BYTES` apart is a tie."""
        rows = {row.name: max(getattr(row, field)) for row in self.at(budget)}
        if ours not in rows:
            return {}
        found = {}
        for name, size in rows.items():
            ratio = rows[ours] / size
            if name != ours:
                close = abs(ratio - 1) < SAME_BYTES
                found[name] = "ties" if close else ("wins" if ratio < 1 else "loses")
        return found

    def cheaper_verdicts(self, ours: str, budget: str) -> dict[tuple[str, str], str]:
        """Say the same by KL, against what a step may read for the same bytes.

        Each other row takes part with the budget of least KL among those that read no more bytes than ours
        does at its own; the key is the row and that budget. Rows that always read more are left out.
        """
        rows = {row.name: row for row in self.at(budget)}
        if ours not in rows:
            return {}
        most = (1 + SAME_BYTES) * max(rows[ours].read_bytes)
        best: dict[str, RowResult] = {}
        for row in self.rows:
            if row.name not in (ours, "dense") and max(row.read_bytes) <= most:
                better = row.name not in best or row.kl_mean.mean < best[row.name].kl_mean.mean
                best[row.name] = row if better else best[row.name]
        return {(row.name, row.budget): verdict(rows[ours].kl, row.kl) for row in best.values()}

    def likelihoods(self, budget: str, kind: str | None = None) -> dict[str, list[float]]:
        """Log likelihoods of the answers by row, tasks in one order; dense rows included."""
        found: dict[str, list[float]] = {}
        for needle in self.needles:
            same_budget = needle.budget == budget or needle.name.startswith("dense")
            if same_budget and kind in (None, needle.kind):
                found.setdefault(needle.name, []).append(needle.likelihood)
        return found

    def hits(self, name: str, budget: str, kind: str) -> tuple[int, int]:
        """Answers found, and tasks."""
        wanted = [
            needle.found
            for needle in self.needles
            if needle.name == name
            and needle.kind == kind
            and (needle.budget == budget or name.startswith("dense"))
        ]
        return sum(wanted), len(wanted)

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1))

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read what :meth:`save` wrote."""
        facts = json.loads(path.read_text())
        facts["rows"] = [RowResult(**row) for row in facts["rows"]]
        facts["needles"] = [NeedleResult(**needle) for needle in facts["needles"]]
        return cls(**facts)
