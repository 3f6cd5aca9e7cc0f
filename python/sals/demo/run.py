# SPDX-License-Identifier: Apache-2.0
"""Load, calibrate, decode dense and sparse, report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils.logging import disable_progress_bar

from sals.calibration import Calibration, CalibrationOptions, calibrate
from sals.integrations.transformers import attach

from . import report
from .decode import Decoded, Passage, decode_dense, decode_sparse, prefill_sparse
from .model import load_local, load_smollm2
from .text import pydoc_text

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclasses.dataclass(frozen=True)
class DemoOptions:
    """What to decode, how much of it, and where to put the results."""

    text: Path | None = None
    model: Path | None = None
    calibration: Path | None = None
    dtype: str = "float32"
    plot: Path = Path("sals-demo.png")
    keeps: tuple[str, ...] = ("1/4", "1/6", "1/8")
    context: int = 7680
    scored: int = 256
    chunk: int = 64
    steps: int = 32
    study: CalibrationOptions = CalibrationOptions()


def options_for(
    text: Path | None, model: Path | None, calibration: Path | None, quick: bool, dtype: str, plot: Path
) -> DemoOptions:
    """Options of a command line.

    Raises
    ------
    ValueError
        If dtype is none of the words.
    """
    if dtype not in DTYPES:
        raise ValueError(f"sals demo: dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    options = DemoOptions(text=text, model=model, calibration=calibration, dtype=dtype, plot=plot)
    if not quick:
        return options
    study = CalibrationOptions(windows=4, context=2048, eval_tokens=64, finalists=1, dense_candidates=1)
    return dataclasses.replace(options, context=3584, scored=128, steps=16, study=study)


def run_demo(options: DemoOptions) -> None:
    """Run the demo and print its report.

    Raises
    ------
    ValueError
        If the text is too short for the model's context and the calibration.
    FileNotFoundError
        If the text or the model is not there.
    """
    console = Console()
    disable_progress_bar()
    with progress_bars(console) as progress:
        model, tokenizer, tokens = load(options, progress)
        limit = model.config.get_text_config().max_position_embeddings
        options = _fitted(options, limit, console)
        calibration_tokens, passage, targets = split(tokens, options)
        calibration = calibration_for(options, model, calibration_tokens, progress)
        results = _decode_all(options, model, calibration, passage, progress)
    report.print_calibration(console, calibration)
    qualities = [report.quality(result, results[0], targets) for result in results]
    report.print_results(console, results, qualities, len(passage.context))
    report.print_continuations(console, results, tokenizer)
    title = f"{calibration.model.name} behind {len(passage.context):,} tokens, on CPU"
    report.save_plot(options.plot, results, qualities, title)
    console.print(f"Picture: {options.plot}")


def split(tokens: Tensor, options: DemoOptions) -> tuple[Tensor, Passage, Tensor]:
    """Divide the text: calibration, then context and scored tokens, whose successors are the targets.

    Raises
    ------
    ValueError
        If the text is too short.
    """
    needed = options.context + options.scored + 1
    rest = len(tokens) - needed
    if rest < needed:
        raise ValueError(
            f"sals demo: text must have at least {2 * needed:,} tokens, got {len(tokens):,}. "
            "Give a longer text, or --quick"
        )
    context, scored = tokens[rest : rest + options.context], tokens[rest + options.context : -1]
    passage = Passage(context, scored, options.chunk, options.steps)
    return tokens[:rest], passage, tokens[rest + options.context + 1 :]


def _fitted(options: DemoOptions, limit: int, console: Console) -> DemoOptions:
    """Shorten the context to what the model was trained for."""
    most = limit - options.scored - options.steps
    if options.context <= most:
        return options
    budget = options.study.budget
    least = (budget.sink_blocks + budget.tail_blocks + 1) * budget.block_size
    if most < least:
        raise ValueError(
            f"sals demo: model must read at least {least + options.scored + options.steps:,} tokens, "
            f"got {limit:,}"
        )
    console.print(f"The model reads {limit:,} tokens: the context is shortened to {most:,}.")
    study = dataclasses.replace(options.study, context=min(options.study.context, most))
    return dataclasses.replace(options, context=most, study=study)


def progress_bars(console: Console) -> Progress:
    """Make the bars that show how far each stage is."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24))
    return Progress(*columns, MofNCompleteColumn(), TimeElapsedColumn(), console=console)


@contextmanager
def stage(progress: Progress, description: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar of `total` ticks; yields what moves it on."""
    task = progress.add_task(description, total=total)
    yield lambda: progress.advance(task)
    progress.update(task, completed=total, total=total)


def load(options: DemoOptions, progress: Progress) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Tensor]:
    """Load the model, its tokenizer and the text as token ids."""
    with stage(progress, "Load the model and the text", 2) as tick:
        dtype = DTYPES[options.dtype]
        model, tokenizer = load_local(options.model, dtype) if options.model else load_smollm2(dtype)
        tick()
        text = options.text.read_text() if options.text else pydoc_text()
        tokens = tokenizer(text, return_tensors="pt", verbose=False).input_ids[0]
        tick()
    return model, tokenizer, tokens


def calibration_for(
    options: DemoOptions, model: PreTrainedModel, tokens: Tensor, progress: Progress
) -> Calibration:
    """Read the calibration file, or calibrate on the tokens and write it."""
    if options.calibration is not None and options.calibration.exists():
        calibration = Calibration.load(options.calibration)
        calibration.validate_for(model.config)
        return calibration
    with stage(progress, "Calibrate", 1):
        calibration = calibrate(
            model, tokens, options.study, lambda line: progress.console.print("  " + line)
        )
    if options.calibration is not None:
        calibration.save(options.calibration)
    return calibration


def _decode_all(
    options: DemoOptions,
    model: PreTrainedModel,
    calibration: Calibration,
    passage: Passage,
    progress: Progress,
) -> list[Decoded]:
    passes = -(-len(passage.scored) // passage.chunk) + passage.steps
    with torch.inference_mode():
        with stage(progress, "Decode densely", 1 + passes) as tick:
            results = [decode_dense(model, passage, tick)]
        with attach(model, calibration) as handle, stage(progress, "Read the context with SALS", 1) as tick:
            cache = prefill_sparse(handle, passage, tick)
        for keep in options.keeps:
            with (
                attach(model, calibration, keep=keep) as handle,
                stage(progress, f"Decode with SALS, keep {keep}", passes) as tick,
            ):
                results.append(decode_sparse(handle, cache, f"keep {keep}", passage, tick))
    return results
