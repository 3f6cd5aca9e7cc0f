# SPDX-License-Identifier: Apache-2.0
"""The rows of the comparison: methods with the settings that a budget means for them."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

from sals.calibration import Calibration
from sals.methods import METHODS, Method, Selector, make_method
from sals.methods.stca import Stca
from sals.methods.tuning import CoverageFit, CoverageWarning, find_coverage

from .prefix import Prefix

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "h2o": ("h2o", {"sinks": 4}),
    "stca-sketch": ("stca", {"scores": "sketch"}),
    "stca-demote": ("stca", {"low": "demote"}),
}
"""Rows that are more than a method by name with its own defaults."""

ROWS = tuple(dict.fromkeys([*METHODS, *VARIANTS]))
DEFAULT_ROWS = (
    "dense", "oracle", "sals", "sketch", "quest",
    "h2o", "stca", "stca-sketch", "stca-demote", "streaming", "window", "random",
)  # fmt: skip

# STCA lets heads differ: one may keep this many times the mean.
STCA_MOST = 4


@dataclasses.dataclass(frozen=True)
class Row:
    """A method at a budget, ready to run.

    Parameters
    ----------
    name : str
        Name of the row.
    method : Method
        With its settings.
    fit : CoverageFit or None
        How STCA's coverage was found.
    """

    name: str
    method: Method
    fit: CoverageFit | None = None

    @property
    def is_selector(self) -> bool:
        """Whether nothing is lost."""
        return isinstance(self.method, Selector)


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of rows without repeats.

    Raises
    ------
    ValueError
        If one is unknown or there is none.
    """
    unknown = [name for name in names if name not in ROWS]
    if unknown or not names:
        raise ValueError(
            f"sals eval: methods must be among {', '.join(ROWS)}, got {', '.join(unknown) or 'none'}"
        )
    return tuple(dict.fromkeys(names))


def make_row(name: str, budget: int, prefix: Prefix | None, seed: int) -> Row:
    """Make a row for a budget in tokens.

    STCA's coverage is the one at which heads keep `budget` tokens on average on this prompt, less the
    `interval` new ones that they hold before a cut. Without a prompt it has its own coverage, and the budget
    bounds each head.
    """
    method, settings = VARIANTS.get(name, (name, {}))
    seeds = (
        {"seed": seed} if any(field.name == "seed" for field in dataclasses.fields(METHODS[method])) else {}
    )
    if method == "dense":
        return Row(name, make_method(method))
    if method != "stca":
        return Row(name, make_method(method, budget=budget, **settings, **seeds))
    # As many recent tokens as the selectors read.
    recent = budget // 4
    if prefix is None:
        return Row(name, make_method(method, budget=budget, recent=recent, **settings, **seeds))
    loose = make_method(method, budget=STCA_MOST * budget, recent=recent, **settings, **seeds)
    assert isinstance(loose, Stca)
    scores = [prefix.scores(loose.scorer(), layer) for layer in range(len(prefix.layers))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        fit = find_coverage(loose, scores, budget - loose.interval)
    return Row(name, dataclasses.replace(loose, coverage=fit.coverage), fit)


def needs_calibration(row: Row) -> bool:
    """Whether a row takes the calibration of the run."""
    return row.method.name == "sals"


def attach_options(row: Row, calibration: Calibration | None) -> dict[str, Any]:
    """Arguments of ``sals.attach`` for a row; indexes are used at every length."""
    options: dict[str, Any] = {"method": row.method}
    if row.method.name in ("sals", "sketch"):
        options["min_dense_tokens"] = 0
    if needs_calibration(row):
        options["calibration"] = calibration
    return options
