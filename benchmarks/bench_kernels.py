# SPDX-License-Identifier: Apache-2.0
"""Modelled time of the NPU kernels beside their floor, of the selection policies, and of a decode step.

Usage: python -m benchmarks.bench_kernels [--long] [--markdown FILE]
Everything is modelled by the simulator; nothing was measured on an NPU. --long adds a million tokens for 84
requests (minutes, 5 GiB).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sals.selection import Selection
from sals.simulator import Finding, Result
from sals.simulator.qsi import qsi_roofline, run_qsi
from sals.simulator.qsi_trial import QsiTrial
from sals.simulator.sfaa_trial import SfaaTrial
from sals.simulator.step import StepTrial, run_step, total_of

TOKENS = (10_240, 65_536, 131_072, 1_048_576)
BATCHES = (1, 84)
LONG_TOKENS = 64_000_000  # above, only with --long
LONG_DISTINCT = (
    24  # requests with pages of their own: neighbours, which one core reads one after the other, share
)
SELECTED = (4096, 8192, 65_536)  # candidates of the comparison of policies
ATTENTION = (  # group, query tokens, layout
    (8, 1, "PA_NZ"),
    (8, 1, "PA_KV"),
    (8, 1, "PA_BNSD"),
    (10, 4, "PA_NZ"),
)
STEPS = (
    StepTrial(84, 10_240, layout="PA_NZ"),
    StepTrial(84, 10_240, layout="PA_BNSD"),
    StepTrial(84, 32_768, heads=1, layout="PA_NZ"),
    StepTrial(1, 131_072, layout="PA_NZ"),
)
KEEPS = ("1/4", "1/6")
SELECTION_FILES = (
    "select_", "find_threshold", "bracket_search", "pack_scores", "sorted_sample", "sort_records",
    "score_row", "write_row",
)  # fmt: skip


def markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    header, *body = rows
    for cells in (header, ("---",) * len(header), *body):
        yield "| " + " | ".join(cells) + " |"


def roofline_rows(long: bool) -> Iterator[Sequence[str]]:
    yield "batch", "tokens", "HBM bytes / floor", "floor, µs", "modelled, µs", "of the roofline", "findings"
    for batch in BATCHES:
        for tokens in TOKENS:
            is_long = batch * tokens > LONG_TOKENS
            if is_long and not long:
                continue
            trial = QsiTrial(batch=batch, seq_len=tokens, distinct=LONG_DISTINCT if is_long else 0)
            arguments = trial.arguments()
            block_ids, _, result = run_qsi(
                **arguments, **trial.keywords(), selection=trial.selection, race_detection=not is_long
            )
            roof = qsi_roofline(result, arguments, block_ids, trial.selection, trial.cores)
            yield (
                str(batch), f"{tokens:,}", f"{roof.traffic:.3f}",
                f"{roof.floor / result.clock_ghz / 1e3:.1f}", f"{result.microseconds:.1f}",
                f"{roof.efficiency:.0%}", str(len(result.findings)),
            )  # fmt: skip


def selection_cycles(candidates: int, order: str) -> float:
    """Cycles in which vector units select, for one row of random keys."""
    selection = Selection(sink_blocks=0, tail_blocks=1, order=order)
    trial = QsiTrial(batch=1, seq_len=(candidates + 1) * 16, heads=1, selection=selection, cores=1)
    arguments = trial.arguments()
    _, _, result = run_qsi(
        **arguments, **trial.keywords(), selection=selection, cores=1, trace=True, race_detection=False
    )
    return vector_cycles(result)


def vector_cycles(result: Result) -> float:
    """Cycles in which vector units select, of a run with a trace and one row."""
    trace = result.trace
    assert trace is not None
    selects = np.array([Path(file).name.startswith(SELECTION_FILES) for file in trace.files])
    shared = np.array([Path(file).name == "vector_ops.h" for file in trace.files])
    vector = trace.pipe == trace.pipes.index("V")
    reduces = np.array([Path(file).name == "block_lse.h" for file in trace.files])
    scored = trace.end[vector & reduces[trace.file]].max()  # before: what a launch prepares once for all rows
    mine = vector & (selects | shared)[trace.file] & (trace.begin >= scored)
    return float((trace.end - trace.begin)[mine].sum())


def selection_rows() -> Iterator[Sequence[str]]:
    yield "candidates", "merge-sort ladder, cycles", "threshold, cycles", "ratio"
    for candidates in SELECTED:
        ladder, threshold = (selection_cycles(candidates, order) for order in ("score", "index"))
        yield f"{candidates:,}", f"{ladder:,.0f}", f"{threshold:,.0f}", f"{ladder / threshold:.1f}"


def expect_none(findings: Sequence[Finding]) -> None:
    """Times of a kernel with errors mean nothing."""
    if findings:
        raise RuntimeError(f"{len(findings)} findings, the first: {findings[0]}")


def attention_rows() -> Iterator[Sequence[str]]:
    yield (
        "query rows", "layout", "HBM bytes / floor", "L2 bytes / formula", "floor, µs", "bound",
        "modelled, µs", "of the roofline",
    )  # fmt: skip
    for group, s_q, layout in ATTENTION:
        trial = SfaaTrial(batch=84, group=group, s_q=s_q, layout=layout)
        arguments = trial.arguments()
        outputs, result = trial.run(arguments, race_detection=False)
        expect_none(result.findings)
        roof = trial.roofline(result, arguments, outputs)
        yield (
            str(group * s_q), layout, f"{roof.traffic:.3f}", f"{roof.exchanged_bytes / roof.exchange:.3f}",
            f"{roof.floor / result.clock_ghz / 1e3:.1f}", roof.bound, f"{result.microseconds:.1f}",
            f"{roof.efficiency:.0%}",
        )  # fmt: skip


def step_rows() -> Iterator[Sequence[str]]:
    yield (
        "batch", "tokens", "KV heads", "layout", "keep", "project_query", "qsi", "sfaa", "in all", "dense",
        "against dense", "goal",
    )  # fmt: skip
    for trial in STEPS:
        times = run_step(trial, KEEPS, race_detection=False)
        expect_none(times.findings)
        for keep, stages in times.steps.items():
            cells = (
                f"{s.microseconds:.1f} ({s.floor:.1f})" for s in (*stages, total_of(stages), times.dense)
            )
            goal = times.goal(keep)
            yield (
                str(trial.batch), f"{trial.seq_len:,}", str(trial.heads), trial.layout, str(keep), *cells,
                f"{times.speedup(keep):.2f} x", f"{goal} x" if goal else "-",
            )  # fmt: skip


def report(long: bool) -> Iterator[str]:
    yield "Modelled by the simulator (24 cores, 1.85 GHz); nothing was measured on an NPU."
    yield ""
    yield "Indexer: rank 64, 2 index heads, PA_BNSD, pages of 128, blocks of 16, keep 1/4; without launch."
    if long:
        yield f"84 requests of a million tokens share the pages of {LONG_DISTINCT}, which is 1.8 GB:"
        yield "neighbours have the same ones, each in its own order, and read them again when the L2 has"
        yield "seen several times its size of other pages. Races are not looked for in that run."
    yield ""
    yield from markdown(list(roofline_rows(long)))
    yield ""
    yield "Selection of one row, at most 2,048 blocks, vector cycles (the ladder returns ids by score):"
    yield ""
    yield from markdown(list(selection_rows()))
    yield ""
    yield "Attention: 84 x 10,240 tokens, 2 KV heads, head_dim 128, pages of 128, keep 1/4; without launch."
    yield ""
    yield from markdown(list(attention_rows()))
    yield ""
    yield "Decode step of one layer, 8 query rows per KV head, µs (floor); without launches, of which a step"
    yield "has three and dense attention one. Dense is the same attention kernel over all blocks. The index"
    yield "keys are random, so lists have few runs. Plans are made on another stream and are not modelled."
    yield ""
    yield from markdown(list(step_rows()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    text = "\n".join(report(options.long)) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
