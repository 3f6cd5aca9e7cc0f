# SPDX-License-Identifier: Apache-2.0
"""The commands ``sals sim ...``. What they need is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sals.cli_sim_attention import sfaa, step
from sals.cli_sim_report import Window, finish, show_trial, window_of

app = typer.Typer(help="Run NPU kernels on the simulator.", no_args_is_help=True)
app.command()(sfaa)
app.command()(step)

GRAMMAR = (
    "x=in:data.npy reads a file, x=in:float16:8x2048 makes random numbers, z=out:float16:8x2048 and "
    "z=inout:data.npy are written, w=workspace:65536 is scratch memory, n=int:2048 is passed by value, "
    "p=null is a null pointer"
)

Include = Annotated[list[Path], typer.Option(help="Further folder of headers.")]
Define = Annotated[list[str], typer.Option(help="Macro, as NAME or NAME=value.")]
Compiler = Annotated[str, typer.Option(help="g++, clang++ or another compiler of C++17.")]


@app.command()
def qsi(
    batch: Annotated[int, typer.Option(help="Requests.")] = 4,
    seq_len: Annotated[int, typer.Option(help="Tokens of each request.")] = 10240,
    heads: Annotated[int, typer.Option(help="Index heads.")] = 2,
    rank: Annotated[int, typer.Option(help="64, 128 or 256.")] = 64,
    page_size: Annotated[int, typer.Option(help="Tokens of a page.")] = 128,
    s_q: Annotated[int, typer.Option(help="Query tokens of a request.")] = 1,
    layout: Annotated[str, typer.Option(help="PA_BNSD, PA_BSND, PA_NZ or BSND.")] = "PA_BNSD",
    keep: Annotated[str, typer.Option(help="Share of the candidate blocks, exact.")] = "1/4",
    coverage: Annotated[float, typer.Option(help="Softmax mass to cover; 0: keep decides.")] = 0.0,
    max_blocks: Annotated[int, typer.Option(help="Most kept candidates.")] = 2048,
    block_size: Annotated[int, typer.Option(help="Tokens of a block.")] = 16,
    order: Annotated[str, typer.Option(help="index or score.")] = "index",
    cores: Annotated[int, typer.Option(help="Cube cores, each with two vector cores.")] = 24,
    plan: Annotated[bool, typer.Option(help="Let the planner divide the work.")] = True,
    seed: Annotated[int, typer.Option(help="First schedule; 0 is the order of modelled time.")] = 0,
    schedules: Annotated[int, typer.Option(help="How many schedules to run.")] = 1,
    data_seed: Annotated[int, typer.Option(help="Seed of the random data.")] = 0,
    trace: Annotated[Path, typer.Option(help="Where to save the timeline (ui.perfetto.dev).")] = Path(
        "qsi.json"
    ),
    plot: Annotated[Path, typer.Option(help="Where to save its picture.")] = Path("qsi.png"),
    window: Window = "",
    save: Annotated[bool, typer.Option(help="Save timeline and picture.")] = True,
    check: Annotated[bool, typer.Option(help="Compare with the NumPy reference.")] = True,
    library: Annotated[Path | None, typer.Option(help="Another build of the kernel.")] = None,
) -> None:
    """Run the indexer's kernel on random data, check it, and show its modelled counters."""
    from sals.selection import Selection
    from sals.simulator.qsi import KERNEL
    from sals.simulator.qsi_trial import QsiTrial

    try:
        selection = Selection(
            keep=keep, coverage=coverage, max_blocks=max_blocks, block_size=block_size, order=order
        )
        trial = QsiTrial(
            batch, seq_len, heads, rank, page_size, s_q, layout, selection, cores,
            "auto" if plan else None, data_seed, library or KERNEL,
        )  # fmt: skip
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    files = {"trace": trace, "plot": plot} if save else {}
    show_trial(trial, range(seed, seed + schedules), window=window, check=check, **files)


@app.command()
def build(
    source: Annotated[Path, typer.Argument(help="Kernel source.")],
    output: Annotated[Path | None, typer.Option(help="Where to put the library; by default a cache.")] = None,
    include: Include = [],  # noqa: B006 - Typer copies it
    define: Define = [],  # noqa: B006
    compiler: Compiler = "g++",
) -> None:
    """Compile a kernel against the simulator's Ascend C headers and print the library's path."""
    typer.echo(_build(source, output, include, define, compiler))


@app.command()
def run_kernel(
    source: Annotated[Path, typer.Argument(help="Kernel source, or a library that `build` made.")],
    entry: Annotated[str, typer.Option(help="Name of the kernel function.")],
    arg: Annotated[list[str], typer.Option(help="An argument, in order: " + GRAMMAR)],
    cores: Annotated[int, typer.Option(help="Cube cores, each with two vector cores.")] = 1,
    kind: Annotated[str, typer.Option(help="mix, cube or vector: the cores it runs on.")] = "mix",
    auto_sync: Annotated[bool, typer.Option(help="Synchronise as the compiler does on request.")] = False,
    seed: Annotated[int, typer.Option(help="Schedule; 0 is the order of modelled time.")] = 0,
    data_seed: Annotated[int, typer.Option(help="Seed of the random data.")] = 0,
    save: Annotated[Path | None, typer.Option(help="Folder for inputs and outputs as .npy files.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Where to save the timeline.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Where to save its picture.")] = None,
    window: Window = "",
    include: Include = [],  # noqa: B006
    define: Define = [],  # noqa: B006
    compiler: Compiler = "g++",
) -> None:
    """Run any kernel on the simulator, on given or random data."""
    import numpy as np

    from sals.simulator import launch, plot_timeline
    from sals.simulator.argument_text import parse_argument, save_arrays

    library = source if source.suffix == ".so" else _build(source, None, include, define, compiler)
    rng = np.random.default_rng(data_seed)
    try:
        arguments = dict(parse_argument(text, rng) for text in arg)
        result = launch(
            library, entry, arguments, cores=cores, kind=kind, seed=seed, auto_sync=auto_sync,
            trace=trace or plot is not None,
        )  # fmt: skip
        if plot is not None and result.trace is not None:
            plot_timeline(result.trace, plot, window=window_of(window), title=f"{entry}, {cores} cores")
    except (ValueError, TypeError, RuntimeError) as error:
        raise typer.BadParameter(str(error)) from error
    if save is not None:
        save_arrays(save, arguments)
    if result.cycles:
        tables = result.time_text(), result.counters.pipe_table(), result.counters.byte_table()
        typer.echo("\n\n".join(tables))
    finish(result.findings, failed=False)


def _build(source: Path, output: Path | None, include: list[Path], define: list[str], compiler: str) -> Path:
    from sals.simulator.build import BuildError
    from sals.simulator.build import build as build_kernel

    try:
        return build_kernel(source, output=output, include=include, defines=define, compiler=compiler)
    except FileNotFoundError as error:
        raise typer.BadParameter(str(error)) from error
    except BuildError as error:
        typer.echo(error, err=True)
        raise typer.Exit(1) from error
