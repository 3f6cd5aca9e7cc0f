# SPDX-License-Identifier: Apache-2.0
"""Times on a CUDA device: medians of replays of a graph that goes through several input sets."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Callable, Sequence

import torch

COPY_BYTES = 4 << 30
L2_SHARE = 6  # the input sets of a graph together are this many times the L2


def describe() -> str:
    """One line for the head of a table."""
    device = torch.cuda.get_device_properties(0)
    return (
        f"{device.name}, {device.multi_processor_count} SMs, {device.L2_cache_size >> 20} MiB L2, "
        f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}, "
        f"{datetime.date.today().isoformat()}"
    )


def input_sets(bytes_of_one: int, at_least: int = 2) -> int:
    """How many input sets are needed so that the L2 cannot keep them."""
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return max(at_least, -(-L2_SHARE * l2 // bytes_of_one))


def capture(runs: Sequence[Callable[[], object]]) -> torch.cuda.CUDAGraph:
    """One graph of all calls, after each has run once."""
    for run in runs:
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for run in runs:
            run()
    return graph


def microseconds(runs: Sequence[Callable[[], object]], seconds: float = 0.2) -> float:
    """Median time of one call, in a graph that makes all of them one after another."""
    graph = capture(runs)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def replay() -> float:
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    replay()
    rounds = min(200, max(7, int(seconds * 1e6 / replay())))
    return statistics.median(replay() for _ in range(rounds)) / len(runs)


def copy_bandwidth() -> float:
    """Bytes per microsecond of the fastest device-to-device copy, read and written ones together.

    Launched one by one: as a node of a graph, a copy of this size runs at two thirds of that.
    """
    source = torch.empty(COPY_BYTES // 8, dtype=torch.int64, device="cuda").random_()
    target = torch.empty_like(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def once() -> float:
        begin.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    once()
    return 2 * COPY_BYTES / statistics.median(once() for _ in range(11))
