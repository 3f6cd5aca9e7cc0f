# SPDX-License-Identifier: Apache-2.0
"""The demo's table, text samples and picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from sals.calibration import Calibration
from sals.integrations.transformers import STAGES

from .decode import Decoded

COLORS = {
    "write": "#9ecae1",
    "project": "#c6dbef",
    "select": "#3182bd",
    "attend": "#e6550d",
    "rest": "#bdbdbd",
}


@dataclasses.dataclass(frozen=True)
class Quality:
    """How close predictions are to the dense ones."""

    perplexity: float
    kl: float
    kl_error: float  # standard error of the mean over tokens


def quality(decoded: Decoded, dense: Decoded, targets: Tensor) -> Quality:
    """Compare next-token predictions, each for the token that came next.

    Parameters
    ----------
    decoded, dense : Decoded
        Predictions after the same tokens.
    targets : Tensor[int64], shape (tokens,)
        The tokens that came next.
    """
    log_p = dense.logits.log_softmax(-1)
    log_q = decoded.logits.log_softmax(-1)
    nll = -log_q.gather(1, targets[:, None]).mean()
    kl = (log_p.exp() * (log_p - log_q)).sum(-1)
    return Quality(float(nll.exp()), float(kl.mean()), float(kl.std() / len(kl) ** 0.5))


def print_calibration(console: Console, calibration: Calibration) -> None:
    """Show what calibration tried, best first."""
    table = Table(title="Calibration: index variants by measured attention mass and KL", title_justify="left")
    for column in ("variant", "bytes/token", "mass 1/4", "mass 1/8", "KL 1/4", "KL 1/8", ""):
        table.add_column(column, justify="left" if column in ("variant", "") else "right")
    for entry in sorted(calibration.report, key=lambda entry: -sum(entry["mass"].values())):
        cells = [f"{entry['mass'].get(keep, float('nan')):.3f}" for keep in ("1/4", "1/8")]
        cells += [f"{entry['kl'][keep]:.4f}" if keep in entry["kl"] else "-" for keep in ("1/4", "1/8")]
        mark = "chosen" if entry["chosen"] else ""
        table.add_row(entry["name"], str(entry["index_bytes"]), *cells, mark, style="bold" if mark else None)
    console.print(table)
    layers = ", ".join(map(str, calibration.dense_layers)) or "none"
    console.print(f"Layers left dense: {layers}\n")


def print_results(
    console: Console, results: Sequence[Decoded], qualities: Sequence[Quality], context: int
) -> None:
    """Show quality and memory, and time by stage, as two tables."""
    console.print(_quality_table(results, qualities, context))
    console.print(
        "mass kept: share of dense attention in the chosen blocks. stored: cache bytes of one token in all "
        "layers, index included. read: what one decode step reads of cache and index.\n"
    )
    console.print(_time_table(results))
    console.print("ms/token: the median step. The stages are means; they sum to the mean step.\n")


def _quality_table(results: Sequence[Decoded], qualities: Sequence[Quality], context: int) -> Table:
    table = Table(title=f"Quality and memory behind {context:,} tokens", title_justify="left")
    for header in ("", "perplexity", "KL to dense", "mass kept", "stored", "read"):
        table.add_column(header, justify="right" if header else "left")
    for result, q in zip(results, qualities, strict=True):
        kl = "-" if result is results[0] else f"{q.kl:.4f} ± {q.kl_error:.4f}"
        memory = f"{result.stored_bytes:,} B", f"{result.read_bytes / 1e6:.1f} MB"
        table.add_row(result.name, f"{q.perplexity:.3f}", kl, f"{result.mass:.3f}", *memory)
    return table


def _time_table(results: Sequence[Decoded]) -> Table:
    title = f"Time per token, measured on CPU with {torch.get_num_threads()} threads, in ms"
    table = Table(title=title, title_justify="left")
    for header in ("", "ms/token", *STAGES):
        table.add_column(header, justify="right" if header else "left")
    for result in results:
        stages = [f"{result.stages[stage] * 1e3:.1f}" if stage in result.stages else "-" for stage in STAGES]
        table.add_row(result.name, f"{result.step_seconds * 1e3:.1f}", *stages)
    return table


def print_continuations(
    console: Console, results: Sequence[Decoded], tokenizer: PreTrainedTokenizerBase
) -> None:
    """Show how each continues the text."""
    for result in results:
        text = tokenizer.decode(result.continuation, skip_special_tokens=True)
        console.print(f"[bold]{result.name}[/bold] continues: ", end="")
        console.print(" ".join(text.split()), markup=False, highlight=False)
    console.print()


def save_plot(path: Path, results: Sequence[Decoded], qualities: Sequence[Quality], title: str) -> None:
    """Save time by stage, bytes and divergence side by side."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = [result.name for result in results]
    figure, (times, memory, divergence) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    bottom = [0.0] * len(results)
    for stage in reversed(STAGES):
        heights = [result.stages.get(stage, 0.0) * 1e3 for result in results]
        times.bar(names, heights, bottom=bottom, label=stage, color=COLORS[stage])
        bottom = [b + h for b, h in zip(bottom, heights, strict=True)]
    times.set(title="Time per token", ylabel="ms (mean step)")
    times.set_ylim(top=1.35 * max(bottom))
    times.legend(ncols=3, loc="upper center", fontsize="small")
    memory.bar(names, [result.read_bytes / 1e6 for result in results], color=COLORS["select"])
    memory.set(title="KV and index read per token", ylabel="MB")
    sparse = slice(1, None)
    divergence.bar(
        names[sparse], [q.kl for q in qualities[sparse]], yerr=[q.kl_error for q in qualities[sparse]],
        capsize=4, color=COLORS["attend"],
    )  # fmt: skip
    divergence.set(title="KL(dense || sparse)", ylabel="nats per token (± standard error)")
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    plt.close(figure)
