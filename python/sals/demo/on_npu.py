# SPDX-License-Identifier: Apache-2.0
"""The same decode steps on an NPU and on the CPU, compared."""

from __future__ import annotations

import dataclasses
import importlib.util
import time

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils.logging import disable_progress_bar

from sals import simulated_runtime
from sals._contract import DEVICE_RANKS
from sals.calibration import Calibration, CalibrationOptions, ModelFingerprint, default_variants
from sals.integrations.transformers import attach
from sals.selection import Keep

from .decode import Decoder, Progress, median
from .run import DemoOptions, calibration_for, load, progress_bars, stage

DEVICE = "npu:0"
TAIL_BLOCKS = 4  # the default number would cover most of a short context


@dataclasses.dataclass(frozen=True)
class Steps:
    """What one device made of a text.

    Parameters
    ----------
    logits : Tensor[float32], shape (steps + 1, vocabulary)
        Predictions after the context and after each step, on the CPU.
    seconds : list of float
        Of the context, then of each step.
    """

    logits: Tensor
    seconds: list[float]

    @property
    def tokens(self) -> Tensor:
        """Most likely tokens, int64 (steps + 1,)."""
        return self.logits.argmax(-1)


def divergence(expected: Steps, found: Steps) -> Tensor:
    """KL(expected || found) of every prediction, in nats, float64 (steps + 1,)."""
    log_p, log_q = (steps.logits.double().log_softmax(-1) for steps in (expected, found))
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def check_device() -> None:
    """Refuse to go on without an NPU, real or simulated.

    Raises
    ------
    ValueError
        If torch_npu is not installed or finds no device.
    """
    if importlib.util.find_spec("torch_npu") is None or not torch.get_device_module("npu").is_available():
        raise ValueError(
            "sals demo: device must be cpu where torch_npu finds no NPU, got npu. "
            "`make demo-npu` runs it on the simulated runtime"
        )


def npu_options(options: DemoOptions, quick: bool) -> DemoOptions:
    """Shorten everything: the runtime may be a simulated one, which takes a second or two for a step."""
    budget = dataclasses.replace(options.study.budget, tail_blocks=TAIL_BLOCKS)
    study = CalibrationOptions(
        budget=budget, windows=2, context=512, eval_tokens=16, finalists=1, dense_candidates=1
    )
    context, steps = (192, 2) if quick else (1024, 16)
    return dataclasses.replace(options, keeps=("1/4",), context=context, scored=0, steps=steps, study=study)


def decode_steps(
    model: PreTrainedModel,
    calibration: Calibration,
    keep: Keep,
    context: Tensor,
    follow: Tensor | None,
    steps: int,
    progress: Progress,
) -> Steps:
    """Read the context and decode `steps` tokens on the model's device, every step sparse.

    Parameters
    ----------
    context : Tensor[int64], shape (tokens,)
        Text to continue.
    follow : Tensor[int64], shape (at least steps,), or None
        Tokens to feed; by default the most likely ones.
    """
    logits, seconds = [], []
    with torch.inference_mode(), attach(model, calibration, keep=keep, min_dense_tokens=0) as handle:
        cache = handle.new_cache(max_batch=1, max_len=len(context) + steps)
        decoder = Decoder(model, cache, progress)
        tokens = context
        for step in range(steps + 1):
            begin = time.perf_counter()
            logits.append(decoder.forward(tokens.to(model.device), keep=1).cpu())
            seconds.append(time.perf_counter() - begin)
            tokens = logits[-1].argmax(-1) if follow is None else follow[step : step + 1]
    return Steps(torch.cat(logits), seconds)


def run_on_npu(options: DemoOptions) -> bool:
    """Decode on the CPU and on the NPU, and print both; whether all tokens are the same.

    Raises
    ------
    ValueError
        If there is no NPU, or the text is too short.
    FileNotFoundError
        If the text or the model is not there.
    """
    check_device()
    console = Console()
    disable_progress_bar()
    keep = options.keeps[0]
    with progress_bars(console) as progress:
        model, tokenizer, tokens = load(options, progress)
        facts = ModelFingerprint.of(model.config)
        variants = default_variants(facts.n_kv, facts.head_dim)
        for_device = tuple(variant for variant in variants if variant.rank in DEVICE_RANKS)
        study = dataclasses.replace(options.study, variants=for_device)
        context = tokens[-options.context :]
        calibration = calibration_for(
            dataclasses.replace(options, study=study), model, tokens[: -options.context], progress
        )
        with stage(progress, "Decode on the CPU", options.steps + 1) as tick:
            expected = decode_steps(model, calibration, keep, context, None, options.steps, tick)
        with stage(progress, f"Decode on {DEVICE}", options.steps + 1) as tick:
            found = decode_steps(
                model.to(DEVICE), calibration, keep, context, expected.tokens, options.steps, tick
            )
    print_steps(console, tokenizer, expected, found, options)
    return torch.equal(expected.tokens, found.tokens)


def print_steps(
    console: Console, tokenizer: PreTrainedTokenizerBase, expected: Steps, found: Steps, options: DemoOptions
) -> None:
    """Show every prediction of both, and what ran."""
    title = f"Predictions behind {options.context:,} tokens, keep {options.keeps[0]}, {options.dtype}"
    table = Table(title=title, title_justify="left")
    for header in ("step", "CPU", "NPU", "KL(CPU || NPU)"):
        table.add_column(header, justify="right" if header in ("step", "KL(CPU || NPU)") else "left")
    words = [[repr(tokenizer.decode(token)) for token in steps.tokens] for steps in (expected, found)]
    for step, (on_cpu, on_npu, kl) in enumerate(zip(*words, divergence(expected, found), strict=True)):
        table.add_row(str(step), on_cpu, on_npu, f"{kl:.2e}")
    console.print(table)
    same = int((expected.tokens == found.tokens).sum())
    simulated = "a simulated runtime: no NPU" if simulated_runtime.folder() else "the runtime of this machine"
    console.print(
        f"{same} of {len(expected.tokens)} tokens are the same. The NPU side ran through torch_npu on "
        f"{simulated}; {median(found.seconds[1:]):.1f} s a step."
    )
