# SPDX-License-Identifier: Apache-2.0
"""The command ``sals``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sals.cli_cann import check_cann
from sals.cli_eval import evaluate, tune
from sals.cli_sim import app as sim

app = typer.Typer(
    help="Sparse attention for long-context decoding.", no_args_is_help=True, add_completion=False
)
app.add_typer(sim, name="sim")
app.command()(check_cann)
app.command("eval")(evaluate)
app.command("tune")(tune)


@app.command()
def demo(
    text: Annotated[
        Path | None, typer.Option(help="Text file to read instead of the Python documentation.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Local model directory instead of SmolLM2-135M.")] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="Calibration file: read if it exists, else written.")
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="A shorter context and fewer tokens: under two minutes.")
    ] = False,
    dtype: Annotated[
        str | None,
        typer.Option(
            help="float32, bfloat16 or float16, for the model and dense attention. By default float32, "
            "on an NPU float16."
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(help="cpu; or npu: decode on both and compare, behind a short context.")
    ] = "cpu",
    plot: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("sals-demo.png"),
) -> None:
    """Decode a real model over a long text, dense and with SALS, and show what it saves and costs."""
    try:
        from sals.demo import on_npu, run
    except ModuleNotFoundError as error:
        raise typer.BadParameter(
            f"{error.name} must be installed for the demo. Run: pip install 'sals[demo]'"
        ) from error
    try:
        if device == "npu":
            options = run.options_for(text, model, calibration, False, dtype or "float16", plot)
            same = on_npu.run_on_npu(on_npu.npu_options(options, quick))
            raise typer.Exit(0 if same else 1)
        if device != "cpu":
            raise ValueError(f"sals demo: device must be cpu or npu, got {device!r}")
        run.run_demo(run.options_for(text, model, calibration, quick, dtype or "float32", plot))
    except (ValueError, FileNotFoundError) as error:
        raise typer.BadParameter(str(error)) from error
