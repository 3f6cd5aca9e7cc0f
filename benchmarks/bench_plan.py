# SPDX-License-Identifier: Apache-2.0
"""How evenly the planner divides known and ragged batches over 20 and 24 cores, and how long it takes.

Usage: python -m benchmarks.bench_plan [--seconds 0.5] [--markdown FILE]
Balance is in modelled cycles and the same everywhere; the planning time is measured on this CPU, one
thread, through the Python call (so it includes about a microsecond of argument conversion).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks import machine, timing
from sals._contract import PLAN_OP_QSI, PLAN_OP_SFAA
from tests.planner.problems import KNOWN_PROBLEMS, RAGGED_PROBLEMS, Problem, imbalance

CORES = (20, 24)
HEADER = ("problem", "heads", "query rows", "cores", "slowest / ideal", "rows cut", "planning, µs")


def cells(problem: Problem, num_cores: int, seconds: float) -> tuple[str, ...]:
    """One line of the table."""
    plan = problem.plan(num_cores)
    ratio = imbalance(plan, problem.op, problem.tokens(), problem.heads, problem.query_rows)
    taken = timing.interleaved({"plan": problem.plan_call(num_cores)}, seconds)["plan"]
    return (
        problem.name,
        str(problem.heads),
        str(problem.query_rows),
        str(num_cores),
        f"{ratio:.3f}",
        f"{len(plan.merges())} of {plan.num_rows}",
        f"{taken * 1e6:.0f}",
    )


def table(seconds: float) -> Iterator[str]:
    yield f"Balance modelled; planning time measured on CPU: {machine.describe()}."
    yield ""
    for line in (HEADER, ("---",) * len(HEADER)):
        yield "| " + " | ".join(line) + " |"
    for problem in (*KNOWN_PROBLEMS, *RAGGED_PROBLEMS):
        for num_cores in CORES:
            yield "| " + " | ".join(cells(problem, num_cores, seconds)) + " |"


SIZES = ((2, 3), (4, 7), (8, 15), (16, 63), (64, 255))  # requests of a random batch, from - to


def random_batches(count: int, seed: int) -> Iterator[str]:
    """How even plans of random ragged batches are, by batch size."""
    rng = np.random.default_rng(seed)
    yield f"{count} random batches per line, lengths up to 8, 32 or 128 K, 1 to 8 heads, seed {seed}."
    yield ""
    yield "| requests | median | 99 % below | worst | above 1.10 | of these without a cut |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for least, most in SIZES:
        measured = [random_batch(rng, least, most) for _ in range(count)]
        ratios = np.sort([ratio for ratio, _ in measured])
        uneven = [is_cut for ratio, is_cut in measured if ratio > 1.10]
        quantiles = ratios[count // 2], ratios[count * 99 // 100], ratios[-1]
        figures = " | ".join(f"{ratio:.3f}" for ratio in quantiles)
        yield f"| {least} to {most} | {figures} | {len(uneven)} | {uneven.count(False)} |"


def random_batch(rng: np.random.Generator, least: int, most: int) -> tuple[float, bool]:
    """Slowest / ideal of the plan of one random batch, and whether it cuts a row."""
    op = int(rng.choice((PLAN_OP_QSI, PLAN_OP_SFAA)))
    longest = int(rng.choice((1 << 13, 1 << 15, 1 << 17)))
    lengths = tuple(int(n) for n in rng.integers(0, longest, int(rng.integers(least, most + 1))))
    group = 1 if op == PLAN_OP_QSI else int(rng.choice((1, 4, 8, 40)))
    problem = Problem("random", op, lengths, int(rng.choice((1, 2, 4, 8))), group)
    plan = problem.plan(int(rng.choice(CORES)))
    return imbalance(plan, op, problem.tokens(), problem.heads, problem.query_rows), bool(plan.merges())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="of repeated planning per line")
    parser.add_argument("--markdown", type=Path, help="write the table to this file, too")
    parser.add_argument("--batches", type=int, default=1000, help="random batches per size")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lines = []
    for line in chain(table(options.seconds), ("",), random_batches(options.batches, options.seed)):
        print(line, flush=True)
        lines.append(line)
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
