# SPDX-License-Identifier: Apache-2.0
"""The report of a comparison: one page of Markdown with its plots."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sals.methods.memory import requests_that_fit

from . import plots
from .passage import WATCH_EVERY
from .results import Results, RowResult
from .statistics import Mean

OURS = "sals"
GIB = 2**30

TITLES = {
    "dense": "dense int8",
    "oracle": "oracle",
    "sals": "SALS",
    "sketch": "sketch",
    "quest": "Quest",
    "h2o": "H2O",
    "stca": "STCA",
    "stca-sketch": "STCA + sketch",
    "stca-demote": "STCA with demotion",
    "streaming": "StreamingLLM",
    "window": "window",
    "random": "random",
}


def title(name: str) -> str:
    """Name of a row for people."""
    return TITLES.get(name, name)


def write_report(results: Results, folder: Path) -> Path:
    """Write ``report.md`` and its plots into a folder; returns the report's path."""
    names = plots.save_plots(results, folder, {row.name: title(row.name) for row in results.rows})
    path = folder / "report.md"
    path.write_text(render(results, names))
    return path


def render(results: Results, images: dict[str, str]) -> str:
    """Return the report.

    Parameters
    ----------
    results : Results
        What was found.
    images : dict of str to str
        Path of each plot, as the page links it.
    """
    parts = [_head(results), _verdicts(results)]
    if "quality" in images:
        parts.append(f"![Quality over budget]({images['quality']})")
    parts += [_quality_table(results), _memory_table(results)]
    if results.needles:
        parts.append(_needle_table(results))
    if "retention" in images:
        parts.append(_retention(results) + f"\n\n![Retention]({images['retention']})")
    if "layers" in images:
        parts.append(
            "## Layers\n\nShare of dense attention that each layer's reads hold, at the middle budget.\n\n"
            f"![Attention mass by layer]({images['layers']})"
        )
    if results.endless:
        parts.append(_endless(results))
    if results.harness:
        parts.append(_harness(results))
    return "\n\n".join(parts) + "\n"


def _head(results: Results) -> str:
    about = results.about
    perplexities = ", ".join(f"{value:.2f}" for value in results.dense_perplexity)
    lines = [
        "# Ways to keep less: a comparison",
        "",
        "Written by `sals eval` in one run, on a CPU. Nothing here was measured on an NPU.",
        "",
        f"- Model: {about['model']}, {about['shape']}, in float32. Text: {about['text']}.",
        f"- Machine: {about['machine']}; the run took {about['minutes']} minutes and "
        f"{about['processor_minutes']} minutes of processor time, all threads together.",
        f"- {about['places']} places of the second half of the text: {about['context']:,} tokens read "
        f"densely, the next {about['scored']} predicted, teacher-forced, in passes of {about['chunk']}. "
        f"Dense perplexity there: {perplexities}.",
        f"- A budget is a share of {about['window']:,} tokens: what a query of a selector reads, or what a "
        "KV head of an evictor holds, new tokens included. Every row reads the int8 cache in every layer.",
        "- STCA's coverage is found so that heads hold the budget on average when the prompt ends, at most "
        "four times as much, and its window is a quarter of the budget. Every 64 tokens it cuts to that "
        "share of what is left, so it holds less and less afterwards (with demotion: in int8), and has a "
        "smaller budget than the others. H2O keeps 4 sinks here, which its paper does not.",
        "- Selectors always read the first 16 tokens and, for a quarter of the budget, the newest, the "
        "oracle and Quest too, whose published code forces none and leaves two layers dense.",
    ]
    if about.get("index"):
        lines.append(f"- SALS's index: {about['index']}; no layer is left dense, so that budgets are equal.")
    lines.append(
        f"- Attention kept, cosines and tokens read are of the first and then every {WATCH_EVERY}th pass."
    )
    lines.append(
        "- ± is half a 95 % interval over segments of 32 tokens, as if they were independent. Those of a "
        "place are not quite, so intervals are too narrow rather than too wide; and of so many comparisons "
        "a few leave out zero by chance. KL is KL(dense ‖ method) of the next token, in nats; "
        "perplexity is relative to dense."
    )
    return "\n".join(lines)


def _verdicts(results: Results) -> str:
    """Where our method wins, ties and loses, by intervals of paired differences."""
    lines = [
        "## Where SALS wins, ties and loses",
        "",
        "KL and needles by paired differences: a win or a loss is one whose 95 % interval leaves out zero. "
        "Bytes by the formulas below; within 2 % is a tie. Selectors (oracle, SALS, sketch, Quest) keep "
        "everything, so evictors always store less. *KL, bytes alike*: the other method at that one of its "
        "budgets which has the least KL and reads no more bytes than SALS does.",
        "",
        "| measure | budget | SALS wins against | ties with | loses to |",
        "|---|---|---|---|---|",
    ]
    measures: list[tuple[str, Callable[[str, str], dict[str, str]]]] = [
        ("KL", results.verdicts),
        ("KL, bytes alike", partial(_cheaper, results)),
        ("needles", results.needle_verdicts),
        ("bytes read by a step", partial(results.byte_verdicts, field="read_bytes")),
        ("bytes stored", partial(results.byte_verdicts, field="stored_bytes")),
    ]
    for measure, verdicts in measures:
        budgets: dict[str, list[str]] = {}
        for budget in results.budgets:
            found = verdicts(OURS, budget)
            if found:
                budgets.setdefault(_cells(found), []).append(budget)
        lines += [f"| {measure} | {', '.join(same)} | {cells} |" for cells, same in budgets.items()]
    if len(lines) == 6:
        return "## Where SALS wins, ties and loses\n\nThe run had no row of SALS."
    return "\n".join(lines)


def _cells(found: dict[str, str]) -> str:
    """Write who is beaten, who is alike and who is better."""
    return " | ".join(
        ", ".join(title(name) for name, word in found.items() if word == wanted) or "-"
        for wanted in ("wins", "ties", "loses")
    )


def _cheaper(results: Results, ours: str, budget: str) -> dict[str, str]:
    """Verdicts against other methods that read no more bytes, named with their budgets."""
    found = results.cheaper_verdicts(ours, budget)
    return {f"{title(name)} at {share}": word for (name, share), word in found.items()}


def _quality_table(results: Results) -> str:
    lines = ["## Quality"]
    for budget in results.budgets:
        lines += [
            "",
            f"### Budget {budget}",
            "",
            "| method | KL | perplexity | attention kept | output cosine | worst layer's cosine |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_quality_line(row) for row in results.at(budget)]
    return "\n".join(lines)


def _quality_line(row: RowResult) -> str:
    mean, low, high = row.perplexity
    mass, cosine = (sum(values) / len(values) for values in (row.mass, row.cosine))
    cells = [
        title(row.name),
        interval(row.kl_mean),
        f"{mean:.3f} ({low:.3f} to {high:.3f})",
        f"{mass:.3f}",
        f"{cosine:.4f}",
        f"{min(row.cosine):.4f}",
    ]
    return "| " + " | ".join(cells) + " |"


def interval(mean: Mean) -> str:
    """Write a mean with half its interval."""
    half = "" if math.isinf(mean.half) else f" ± {mean.half:.4f}"
    return f"{mean.mean:.4f}{half}"


def _memory_table(results: Results) -> str:
    window, dense = results.about["window"], results.about["dense_bf16_bytes"]
    lines = [
        "## Memory, traffic and time",
        "",
        f"Of one request of {window:,} tokens in all layers. A dense bfloat16 cache stores and reads "
        f"{dense / 1e6:.0f} MB. *stored* and *read* are formulas (`sals.methods.memory`) with the measured "
        "number of tokens; *held* is what the tensors of the cache took at most in the run, where it takes "
        f"memory as tokens come. *fit*: requests whose caches fit {results.memory_gib:g} GiB (dense "
        f"bfloat16: {requests_that_fit(results.memory_gib * GIB, dense):,}). *step*: median of single-token "
        "passes of this PyTorch implementation; other work on the machine makes it noisy.",
    ]
    for budget in results.budgets:
        lines += [
            "",
            f"### Budget {budget}",
            "",
            "| method | tokens read | stored, MB | held, MB | read, MB | fit | step, ms |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [_memory_line(row, results) for row in results.at(budget)]
    return "\n".join(lines)


def _memory_line(row: RowResult, results: Results) -> str:
    stored = max(row.stored_bytes)
    held = max(row.resident_bytes)
    steps = [value for value in row.step_ms if not math.isnan(value)]
    cells = [
        title(row.name),
        f"{sum(row.tokens_read) / len(row.tokens_read):,.0f}",
        f"{stored / 1e6:.1f}",
        f"{held / 1e6:.1f}" if held else "-",
        f"{max(row.read_bytes) / 1e6:.1f}",
        f"{requests_that_fit(results.memory_gib * GIB, stored):,}",
        f"{sum(steps) / len(steps):.0f}" if steps else "-",
    ]
    return "| " + " | ".join(cells) + " |"


def _needle_table(results: Results) -> str:
    about = results.about
    tasks = len({(n.kind, n.depth) for n in results.needles}) * about["needle_seeds"]
    lines = [
        "## Needles",
        "",
        f"{tasks} tasks of {about['needle_tokens']:,} tokens: a number is hidden at depths "
        f"{', '.join(map(str, about['needle_depths']))}, alone (single) or among seven others of the same "
        "form (multi-key), and asked for at the end. The context is read, and evictors choose, before the "
        "question is known. Figures: mean log likelihood of the answer's tokens (0 is certain), and answers "
        "of which every token was the most likely one. Budgets are shares of the context.",
    ]
    for budget in results.budgets:
        lines += [
            "",
            f"### Budget {budget}",
            "",
            "| method | single | found | multi-key | found |",
            "|---|---|---|---|---|",
        ]
        single, multi = (results.likelihoods(budget, kind) for kind in ("single", "multi-key"))
        for name in single:
            cells = [title(name)]
            for kind, values in (("single", single[name]), ("multi-key", multi[name])):
                found, tried = results.hits(name, budget, kind)
                mean = Mean.of(values)
                half = "" if math.isinf(mean.half) else f" ± {mean.half:.2f}"
                cells += [f"{mean.mean:.2f}{half}", f"{found} of {tried}"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _retention(results: Results) -> str:
    lines = [
        "## Retention",
        "",
        "Tokens that STCA's heads keep when all together meet the budget on average, and what the search for "
        "the coverage advises.",
        "",
        "| method | budget | coverage | mean | standard deviation | advice |",
        "|---|---|---|---|---|---|",
    ]
    for row in results.rows:
        if row.coverage:
            coverage = ", ".join(f"{value:.3f}" for value in row.coverage)
            deviation = sum(value**0.5 for value in row.variance) / len(row.variance)
            mean = sum(row.held) / len(row.held)
            advice = " ".join(dict.fromkeys(_kind_of_advice(line) for line in row.advice)) or "-"
            lines.append(
                f"| {title(row.name)} | {row.budget} | {coverage} | {mean:.0f} | {deviation:.0f} | {advice} |"
            )
    return "\n".join(lines)


def _kind_of_advice(line: str) -> str:
    """Shorten a warning of the coverage search to what to do."""
    if "raise min_keep" in line:
        return "Heads differ much: raise min_keep."
    return "Coverage outside the usual range." if "outside" in line else line


def _endless(results: Results) -> str:
    stretches = results.endless[0]["stretches"]
    head = " | ".join(f"{part['begin']:,} to {part['end']:,}" for part in stretches)
    lines = [
        "## Beyond the trained length",
        "",
        "Perplexity of stretches of the text, fed behind the context; *held* is the most that the cache's "
        "tensors took. Rolling positions number what is cached anew from 0; original ones grow with the "
        "text.",
        "",
        f"| method | {head} | held, MB |",
        "|---|" + "---|" * (len(stretches) + 1),
    ]
    for one in results.endless:
        cells = " | ".join(_perplexity(part["perplexity"]) for part in one["stretches"])
        lines.append(f"| {one['name']} | {cells} | {one['resident'] / 1e6:.1f} |")
    return "\n".join(lines)


def _perplexity(value: float) -> str:
    return f"{value:.2f}" if value < 1e4 else f"{value:.1e}"


def _harness(results: Results) -> str:
    lines = [
        "## Tasks of lm-evaluation-harness",
        "",
        "| method | task | metric | value |",
        "|---|---|---|---|",
    ]
    for name, tasks in results.harness.items():
        for task, metrics in tasks.items():
            for metric, value in metrics.items():
                if isinstance(value, float) and "stderr" not in metric:
                    lines.append(f"| {title(name)} | {task} | {metric} | {value:.4f} |")
    return "\n".join(lines)
