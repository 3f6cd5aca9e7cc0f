# SPDX-License-Identifier: Apache-2.0
"""The commands ``sals eval`` and ``sals tune``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

ModelOption = Annotated[Path | None, typer.Option(help="Local model directory instead of SmolLM2-135M.")]
TextOption = Annotated[
    Path | None, typer.Option(help="Text file to read instead of the Python documentation.")
]


def evaluate(
    methods: Annotated[
        str | None, typer.Option(help="Rows, such as sals,sketch,stca,streaming,h2o; all by default.")
    ] = None,
    budgets: Annotated[str, typer.Option(help="Shares of the window.")] = "1/4,1/8,1/16",
    model: ModelOption = None,
    text: TextOption = None,
    calibration: Annotated[
        Path | None, typer.Option(help="Calibration of SALS: read if it exists, else written.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="A shorter context, one place: a few minutes.")] = False,
    places: Annotated[int | None, typer.Option(help="Places of the text, each with its own seeds.")] = None,
    needle_seeds: Annotated[int, typer.Option(help="Sets of needles; 0 leaves them out.")] = 1,
    memory_gib: Annotated[float, typer.Option(help="Memory that requests share.")] = 16.0,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    output: Annotated[Path, typer.Option(help="Folder of report, plots and results.")] = Path("sals-eval"),
    lm_eval_tasks: Annotated[
        str | None,
        typer.Option(help="Tasks of lm-evaluation-harness to run as well, at the smallest budget."),
    ] = None,
) -> None:
    """Compare the ways to keep and read less, at equal budgets, on a real model."""
    try:
        from sals.evaluation import lm_harness, run
        from sals.evaluation.options import EvalOptions, parse_budgets, parse_names
        from sals.evaluation.options import quick as smaller
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    try:
        options = EvalOptions(
            budgets=parse_budgets(budgets),
            model=model,
            text=text,
            calibration=calibration,
            needle_seeds=needle_seeds,
            memory_gib=memory_gib,
            seed=seed,
            output=output,
        )
        if methods is not None:
            options = dataclasses.replace(options, methods=parse_names(methods))
        if quick:
            options = smaller(options)
        if places is not None:
            options = dataclasses.replace(options, places=places)
        tasks = parse_names(lm_eval_tasks) if lm_eval_tasks else ()
        lm_harness.check_installed(tasks)
        typer.echo(f"Report: {run.run_eval(options, typer.echo, tasks)}")
    except (ValueError, FileNotFoundError, ModuleNotFoundError) as error:
        raise typer.BadParameter(str(error)) from error


def tune(
    budget: Annotated[int | None, typer.Option(help="Tokens that heads keep on average.")] = None,
    memory_mib: Annotated[
        float | None, typer.Option(help="Memory of one request's cache, instead of a budget.")
    ] = None,
    context: Annotated[int, typer.Option(help="Tokens of the text to read.")] = 4096,
    scores: Annotated[str, typer.Option(help="attention or sketch.")] = "attention",
    min_keep: Annotated[int, typer.Option(help="Least tokens that a head keeps.")] = 0,
    model: ModelOption = None,
    text: TextOption = None,
) -> None:
    """Find the coverage at which STCA meets a budget on your text, and what speaks against it."""
    try:
        from sals.evaluation.tune import run_tune
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    try:
        for line in run_tune(budget, memory_mib, context, scores, min_keep, model, text):
            typer.echo(line)
    except (ValueError, FileNotFoundError) as error:
        raise typer.BadParameter(str(error)) from error


def _missing(error: ModuleNotFoundError) -> typer.BadParameter:
    return typer.BadParameter(f"{error.name} must be installed for this. Run: pip install 'sals[demo]'")
