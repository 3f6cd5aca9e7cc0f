# SPDX-License-Identifier: Apache-2.0
"""Kernels on random data: what ``sals sim qsi`` and ``sals sim sfaa`` do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sals.simulator.result import Result
from sals.simulator.roofline import Roofline
from sals.simulator.timeline import plot_timeline
from sals.simulator.trace import Trace

Outputs = tuple[np.ndarray, np.ndarray]


class Trial(Protocol):
    """A call of a kernel on random data, and how to run it; its text shows the sizes."""

    def arguments(self) -> dict[str, Any]:
        """Return random arguments by name."""

    def run(self, arguments: dict[str, Any], **options: Any) -> tuple[Outputs, Result]:
        """Run the kernel; options as for `sals.simulator.launch`."""

    def checker(self, arguments: dict[str, Any]) -> Callable[[Outputs], None]:
        """Return what raises AssertionError unless outputs are right."""

    def roofline(self, result: Result, arguments: dict[str, Any], outputs: Outputs) -> Roofline:
        """Compare a run in the order of modelled time with its floor."""


@dataclass(frozen=True)
class Run:
    """One schedule of a trial; `disagreement` is empty if the result is right."""

    seed: int
    result: Result
    roofline: Roofline | None  # in the order of modelled time
    disagreement: str


def require_positive(trial: Any, *names: str) -> None:
    """Reject sizes of which there is no random data."""
    for name in names:
        if getattr(trial, name) < 1:
            raise ValueError(f"sals sim: {name} must be positive, got {getattr(trial, name)}")


def run_trial(
    trial: Trial, seeds: range, *, trace: Path | None = None, plot: Path | None = None,
    window: tuple[float, float] | None = None, check: bool = True,
) -> Iterator[Run]:  # fmt: skip
    """Run a trial under several schedules; seed 0, in the order of modelled time, is traced.

    Parameters
    ----------
    trial : Trial
    seeds : range
        Schedules.
    trace, plot : path, optional
        Where to put the timeline of seed 0, as JSON and as a picture.
    window : (float, float), optional
        Modelled microseconds that the picture shows.
    check : bool
        Whether to compare with the NumPy reference.
    """
    arguments = trial.arguments()
    checker = trial.checker(arguments) if check else None
    for seed in seeds:
        traced = seed == 0 and (trace is not None or plot is not None)
        outputs, result = trial.run(arguments, seed=seed, trace=traced)
        if result.trace is not None:
            _save(result.trace, trial, trace, plot, window)
        roofline = trial.roofline(result, arguments, outputs) if result.cycles else None
        yield Run(seed, result, roofline, _disagreement(checker, outputs))


def _disagreement(checker: Callable[[Outputs], None] | None, outputs: Outputs) -> str:
    try:
        if checker is not None:
            checker(outputs)
    except AssertionError as error:
        return str(error)
    return ""


def _save(
    timeline: Trace,
    trial: Trial,
    trace: Path | None,
    plot: Path | None,
    window: tuple[float, float] | None,
) -> None:
    if trace is not None:
        timeline.write_json(trace)
    if plot is not None:
        plot_timeline(timeline, plot, window=window, title=str(trial))
