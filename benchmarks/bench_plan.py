# SPDX-License-Identifier: Apache-2.0
"""How evenly the planner divides known and ragged batches over 20 and 24 cores, and how long it takes.

Usage: python -m benchmarks.bench_plan [--seconds 0.5] [--markdown FILE]
Balance is in modelled cycles and the same everywhere; the planning time is measured on this CPU, one
thread, through the Python call (so it includes about a microsecond of argument conversion).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import machine, timing
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="of repeated planning per line")
    parser.add_argument("--markdown", type=Path, help="write the table to this file, too")
    options = parser.parse_args()
    lines = []
    for line in table(options.seconds):
        print(line, flush=True)
        lines.append(line)
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
