# SPDX-License-Identifier: Apache-2.0
"""What a comparison runs."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path

from .rows import DEFAULT_ROWS, check_names


@dataclasses.dataclass(frozen=True)
class EvalOptions:
    """Sizes of a comparison; the defaults are the grid of the report in the docs.

    Parameters
    ----------
    methods : tuple of str
        Rows of `sals.evaluation.rows.ROWS`.
    budgets : tuple of Fraction
        Shares of `window` (and of `needle_tokens`) that a query may read or a head may keep.
    model, text : Path, optional
        Model directory and text file; SmolLM2-135M and the pydoc topics by default.
    calibration : Path, optional
        Calibration of the model for SALS; made by default.
    window : int
        Tokens to which the budgets refer.
    context, scored, chunk, steps : int
        Tokens of dense context, tokens scored behind it, tokens of a pass, and single steps to time.
    places : int
        Places of the text; each has its own random seeds.
    needle_tokens, needle_depths, needle_seeds : int, tuple of float, int
        Tokens of a context with needles (0 leaves the tasks out), and where the needles stand.
    endless : int
        Tokens to feed behind the context beyond the trained length; 0 leaves that out.
    memory_gib : float
        Memory that requests share, for the number that fit.
    seed : int
        Of everything random.
    output : Path
        Folder of the results.
    """

    methods: tuple[str, ...] = DEFAULT_ROWS
    budgets: tuple[Fraction, ...] = (Fraction(1, 4), Fraction(1, 8), Fraction(1, 16))
    model: Path | None = None
    text: Path | None = None
    calibration: Path | None = None
    window: int = 8192
    context: int = 7680
    scored: int = 256
    chunk: int = 32
    steps: int = 8
    places: int = 2
    needle_tokens: int = 4096
    needle_depths: tuple[float, ...] = (0.2, 0.5, 0.8)
    needle_seeds: int = 1
    endless: int = 2560
    memory_gib: float = 16.0
    seed: int = 0
    output: Path = Path("sals-eval")

    def __post_init__(self) -> None:
        """Check the ranges."""
        object.__setattr__(self, "methods", check_names(self.methods))
        _require(len(self.budgets) > 0, "budgets must name at least one share")
        for budget in self.budgets:
            _require(0 < budget <= 1, f"budgets must be in (0, 1], got {budget}")
            _require(
                budget * self.window >= 4 * self.chunk,
                f"budgets must be at least four chunks = {4 * self.chunk} tokens, "
                f"got {budget} of {self.window}",
            )
        for name in ("window", "context", "scored", "chunk", "places"):
            _require(getattr(self, name) > 0, f"{name} must be positive, got {getattr(self, name)}")
        for name in ("steps", "needle_tokens", "needle_seeds", "endless"):
            _require(getattr(self, name) >= 0, f"{name} must not be negative, got {getattr(self, name)}")
        _require(
            self.steps < self.scored, f"steps must be less than scored = {self.scored}, got {self.steps}"
        )
        _require(self.memory_gib > 0, f"memory_gib must be positive, got {self.memory_gib}")

    def tokens(self, budget: Fraction, window: int) -> int:
        """Return a budget in tokens, whole blocks."""
        return int(budget * window) // 16 * 16


def parse_names(text: str) -> tuple[str, ...]:
    """Read names that commas separate."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_budgets(text: str) -> tuple[Fraction, ...]:
    """Read shares such as ``1/4,1/8``.

    Raises
    ------
    ValueError
        If one is no number.
    """
    try:
        return tuple(Fraction(part) for part in parse_names(text))
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(f"sals eval: budgets must be shares such as 1/4,1/8, got {text!r}") from error


def quick(options: EvalOptions) -> EvalOptions:
    """Return a smaller grid: a shorter context, one place, two depths; a few minutes."""
    return dataclasses.replace(
        options,
        window=4096,
        context=3584,
        scored=128,
        places=1,
        needle_tokens=2048,
        needle_depths=(0.25, 0.75),
        endless=0,
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(f"sals eval: {message}")
