# SPDX-License-Identifier: Apache-2.0
"""What the commands ``sals sim ...`` show of a run, and how they end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sals.simulator.result import Finding
    from sals.simulator.trial import Run, Trial

MESSAGE_WIDTH = 160

Window = Annotated[str, typer.Option(help="Modelled microseconds to draw, such as 10:20; empty: the run.")]


def show_trial(
    trial: Trial,
    seeds: range,
    *,
    window: str,
    check: bool,
    trace: Path | None = None,
    plot: Path | None = None,
) -> None:
    """Run a trial, show each schedule's verdict and the counters of the first, and end with the findings."""
    from sals.simulator.trial import run_trial

    typer.echo(trial)
    runs = []
    try:
        for run in run_trial(trial, seeds, window=window_of(window), check=check, trace=trace, plot=plot):
            runs.append(run)
            typer.echo(f"schedule {run.seed}: {len(run.result.findings)} findings, {_verdict(run, check)}")
    except (ValueError, RuntimeError) as error:
        raise typer.BadParameter(str(error)) from error
    if runs[0].roofline is not None:
        result = runs[0].result
        tables = result.time_text(), result.counters.pipe_table(), result.counters.byte_table()
        typer.echo("\n" + "\n\n".join([*tables, str(runs[0].roofline)]))
    if trace is not None and seeds.start == 0:
        typer.echo(f"\ntimeline {trace}, picture {plot}")
    findings = dict.fromkeys(finding for run in runs for finding in run.result.findings)
    finish(findings, failed=any(run.disagreement for run in runs))


def _verdict(run: Run, check: bool) -> str:
    if not check:
        return "result not checked"
    if not run.disagreement:
        return "result equals the reference"
    return "result is WRONG: " + textwrap.shorten(run.disagreement, MESSAGE_WIDTH, placeholder=" ...")


def window_of(text: str) -> tuple[float, float] | None:
    """Read a window such as ``10:20``."""
    if not text:
        return None
    begin, _, end = text.partition(":")
    return float(begin), float(end)


def finish(findings: Iterable[Finding], failed: bool) -> None:
    """End with the findings, and fail if there are any or the result is wrong."""
    from sals.simulator.result import findings_text

    text = findings_text(findings)
    typer.echo("\n" + text)
    if failed or text != "0 findings":
        raise typer.Exit(1)
