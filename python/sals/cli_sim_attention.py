# SPDX-License-Identifier: Apache-2.0
"""``sals sim sfaa`` and ``sals sim step``. What they need is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sals.cli_sim_report import Window, finish, show_trial

Batch = Annotated[int, typer.Option(help="Requests.")]
SeqLen = Annotated[int, typer.Option(help="Tokens of each request.")]
Heads = Annotated[int, typer.Option(help="KV heads.")]
Group = Annotated[int, typer.Option(help="Query heads of a KV head.")]
HeadDim = Annotated[int, typer.Option(help="64, 128 or 256.")]
PageSize = Annotated[int, typer.Option(help="Tokens of a page.")]
QueryTokens = Annotated[int, typer.Option(help="Query tokens of a request; they share a list.")]
Layout = Annotated[str, typer.Option(help="PA_BNSD, PA_BSND, PA_NZ, PA_KV or BSND.")]
Cores = Annotated[int, typer.Option(help="Cube cores, each with two vector cores.")]
Keeps = Annotated[list[str], typer.Option(help="Share of the candidate blocks; several are compared.")]
DataSeed = Annotated[int, typer.Option(help="Seed of the random data.")]


def sfaa(
    batch: Batch = 4,
    seq_len: SeqLen = 10240,
    heads: Heads = 2,
    group: Group = 8,
    head_dim: HeadDim = 128,
    page_size: PageSize = 128,
    s_q: QueryTokens = 1,
    layout: Layout = "PA_BNSD",
    token_scales: Annotated[bool, typer.Option(help="Scales per token instead of per channel.")] = False,
    keep: Annotated[str, typer.Option(help="Share of the candidate blocks, exact; 1: dense.")] = "1/4",
    max_blocks: Annotated[int, typer.Option(help="Most kept candidates.")] = 2048,
    block_size: Annotated[int, typer.Option(help="Tokens of a block.")] = 16,
    cores: Cores = 24,
    plan: Annotated[bool, typer.Option(help="Let the planner divide the work.")] = True,
    preload: Annotated[bool, typer.Option(help="Let tasks overlap; else they go one by one.")] = True,
    touched: Annotated[int, typer.Option(help="Percent of a task that vector cores read ahead.")] = 0,
    seed: Annotated[int, typer.Option(help="First schedule; 0 is the order of modelled time.")] = 0,
    schedules: Annotated[int, typer.Option(help="How many schedules to run.")] = 1,
    data_seed: DataSeed = 0,
    trace: Annotated[Path, typer.Option(help="Where to save the timeline (ui.perfetto.dev).")] = Path(
        "sfaa.json"
    ),
    plot: Annotated[Path, typer.Option(help="Where to save its picture.")] = Path("sfaa.png"),
    window: Window = "",
    save: Annotated[bool, typer.Option(help="Save timeline and picture.")] = True,
    check: Annotated[bool, typer.Option(help="Compare with the float64 reference.")] = True,
    library: Annotated[Path | None, typer.Option(help="Another build of the kernel.")] = None,
) -> None:
    """Run the attention's kernel on random data, check it, and show its modelled counters."""
    from sals.selection import Selection
    from sals.simulator.sfaa import KERNEL
    from sals.simulator.sfaa_trial import SfaaTrial

    try:
        selection = Selection(keep=keep, max_blocks=max_blocks, block_size=block_size)
        trial = SfaaTrial(
            batch, seq_len, heads, group, head_dim, page_size, s_q, layout, token_scales, selection, cores,
            "auto" if plan else None, data_seed, library or KERNEL, preload, touched,
        )  # fmt: skip
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    files = {"trace": trace, "plot": plot} if save else {}
    show_trial(trial, range(seed, seed + schedules), window=window, check=check, **files)


def step(
    batch: Batch = 84,
    seq_len: SeqLen = 10240,
    heads: Heads = 2,
    group: Group = 8,
    head_dim: HeadDim = 128,
    rank: Annotated[int, typer.Option(help="Of the index: 64, 128 or 256.")] = 64,
    page_size: PageSize = 128,
    s_q: QueryTokens = 1,
    layout: Layout = "PA_BNSD",
    keep: Keeps = ["1/4", "1/6"],  # noqa: B006 - Typer copies it
    cores: Cores = 24,
    data_seed: DataSeed = 0,
    races: Annotated[bool, typer.Option(help="Look for races, which doubles the time.")] = False,
    check: Annotated[bool, typer.Option(help="Compare a few requests with the references.")] = True,
) -> None:
    """Run a decode step of one layer, and attention over all blocks; check them and compare their times."""
    from sals.simulator.step import StepTrial, run_step, step_text

    try:
        trial = StepTrial(
            batch, seq_len, heads, group, head_dim, rank, page_size, s_q, layout, cores, data_seed
        )
        typer.echo(trial)
        found = run_step(trial, keep, check=check, race_detection=races)
    except (ValueError, RuntimeError) as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo("\n" + step_text(found))
    if check:
        typer.echo("\n" + ("\n".join(found.wrong) or "results equal the references"))
    finish(found.findings, failed=bool(found.wrong))
