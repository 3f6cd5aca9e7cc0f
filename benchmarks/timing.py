# SPDX-License-Identifier: Apache-2.0
"""Times several candidates in turn, so that a machine whose speed drifts treats them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def interleaved(
    candidates: Mapping[str, Callable[[], object]],
    seconds: float,
    evict: Callable[[], object] = lambda: None,
    min_rounds: int = 5,
):
    """Run all candidates in rounds for about `seconds`, each after `evict`; median seconds by name."""
    for run in candidates.values():
        run()
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    stop = time.perf_counter() + seconds
    rounds = 0
    while rounds < min_rounds or time.perf_counter() < stop:
        for name, run in candidates.items():
            evict()
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
        rounds += 1
    return {name: statistics.median(times) for name, times in taken.items()}


def contenders(candidates: Mapping[str, Callable[[], object]], within: float = 2.0):
    """Drop candidates that a few runs show to be slower than `within` times the fastest.

    The best of three runs counts, so that threads and libraries that start do not; a run of over a second
    is not repeated.
    """
    best: dict[str, float] = {}
    for name, run in candidates.items():
        taken: list[float] = []
        while len(taken) < 3 and (not taken or taken[-1] < 1.0):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
        best[name] = min(taken)
    limit = within * min(best.values())
    return {name: run for name, run in candidates.items() if best[name] <= limit}, best
