# SPDX-License-Identifier: Apache-2.0
"""The CUDA kernels against dense PyTorch attention in all its backends, as ratios in one run.

Usage: python -m benchmarks.bench_cuda [--quick] [--markdown FILE] [--json FILE]
Times are medians of CUDA graph replays over input sets larger than the L2; every result is checked first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch

from benchmarks import cuda_dense, cuda_sparse, cuda_timing
from benchmarks.cuda_sparse import Problem
from sals.selection import Selection

QUARTER = Selection(keep=Fraction(1, 4))
# The SALS paper's setting keeps an eighth of all tokens, sink and recent ones included: 32 of 256 blocks.
EIGHTH = Selection(keep=Fraction(1, 8), sink_blocks=1, tail_blocks=4, max_blocks=27)
PAPER = [Problem(batch, 4096, EIGHTH, n_kv=32, group=1) for batch in (16, 8)]
GOALS = [Problem(84, 10_240, QUARTER), Problem(8, 131_072, QUARTER), *PAPER]
LENGTHS = (1024, 2048, 4096, 8192, 16_384, 32_768, 131_072)
SWEEP = [Problem(batch, tokens, QUARTER) for batch in (1, 8) for tokens in LENGTHS]
QUICK = [*GOALS, Problem(8, 2048, QUARTER), Problem(8, 32_768, QUARTER), Problem(1, 32_768, QUARTER)]


def measure(problem: Problem, copy: float, with_dense: bool = True) -> dict[str, Any]:
    """Microseconds by name, bytes and their share of the copy bandwidth."""
    p, made = problem, cuda_sparse.steps(problem)
    index_time = cuda_timing.microseconds([step.select for step in made])
    attention_time = cuda_timing.microseconds([lambda s=step: s.attend(s.ids, s.selected) for step in made])
    row: dict[str, Any] = {
        "batch": p.batch, "tokens": p.tokens, "heads": f"{p.n_kv * p.group}/{p.n_kv}",
        "kept": int(made[0].selected[0, 0, 0]),
        "qsi": index_time, "sfaa": attention_time,
        "both": cuda_timing.microseconds([step.both for step in made]),
        "three steps": cuda_timing.microseconds([step.three_steps for step in made]),
        "scores": cuda_timing.microseconds([step.scores for step in made]),
        "project_query": cuda_timing.microseconds([step.project for step in made]),
    }  # fmt: skip
    kv_bytes = p.kv_bytes(int(made[0].selected.sum()))
    row["qsi share"] = p.index_bytes / index_time / copy
    row["sfaa share"] = kv_bytes / attention_time / copy
    row["floor"] = (p.index_bytes + kv_bytes) / copy
    del made
    torch.cuda.empty_cache()
    if with_dense:
        row["dense"] = cuda_dense.times(p.batch, p.tokens, p.n_kv * p.group, p.n_kv, p.head_dim)
        row["fastest"] = min(row["dense"], key=row["dense"].__getitem__)
        row["speed-up"] = row["dense"][row["fastest"]] / row["both"]
        flash = [time for name, time in row["dense"].items() if name.startswith(cuda_dense.FLASH)]
        row["over Flash"] = min(flash) / row["both"] if flash else float("nan")
        torch.cuda.empty_cache()
    return row


HEADER = (
    "batch", "tokens", "heads", "kept", "qsi µs (of copy)", "sfaa µs (of copy)", "both µs", "byte floor µs",
    "three steps", "fastest dense µs", "which", "speed-up", "over FlashAttention",
)  # fmt: skip


def cells(row: dict[str, Any]) -> Iterator[str]:
    yield from (str(row["batch"]), f"{row['tokens']:,}", row["heads"], f"{row['kept']:,}")
    yield from (f"{row[name]:.1f} ({row[name + ' share']:.0%})" for name in ("qsi", "sfaa"))
    yield from (f"{row['both']:.1f}", f"{row['floor']:.1f}")
    yield f"{row['three steps']:.1f} ({row['three steps'] / row['both']:.2f}x)"
    if "dense" in row:
        yield from (f"{row['dense'][row['fastest']]:.1f}", row["fastest"])
        yield from (f"**{row['speed-up']:.2f}x**", f"{row['over Flash']:.2f}x")
    else:
        yield from ("-",) * 4


def line(values: Iterator[str]) -> str:
    return "| " + " | ".join(values) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the goals and break-even only")
    parser.add_argument("--no-dense", action="store_true")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    copy = cuda_timing.copy_bandwidth()
    lines = [
        f"Measured: {cuda_timing.describe()}. Copy bandwidth {copy / 1e6:.2f} TB/s. head_dim 128, rank 64, "
        "bf16 queries, static scales, pages of 128 tokens in random order.",
        "",
        line(iter(HEADER)),
        line(iter(["---"] * len(HEADER))),
    ]
    print("\n".join(lines), flush=True)
    rows = []
    for problem in QUICK if options.quick else GOALS + SWEEP:
        rows.append(measure(problem, copy, not options.no_dense))
        lines.append(line(cells(rows[-1])))
        print(lines[-1], flush=True)
        if "dense" in rows[-1]:
            print("    " + "; ".join(f"{name} {time:.1f}" for name, time in rows[-1]["dense"].items()))
        print(f"    scores alone {rows[-1]['scores']:.1f}, project_query {rows[-1]['project_query']:.1f}")
    if options.json:
        options.json.write_text(json.dumps({"copy": copy, "describe": cuda_timing.describe(), "rows": rows}))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
