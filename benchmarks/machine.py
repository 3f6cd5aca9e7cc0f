# SPDX-License-Identifier: Apache-2.0
"""What a figure was measured on: processor, threads, versions, date, and how fast memory can be read."""

from __future__ import annotations

import datetime
import platform
from pathlib import Path

import torch

from sals import huge_pages

READ_BYTES = 1 << 28  # well beyond the last-level cache


def processor() -> str:
    """Model name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe() -> str:
    """One line for the head of a table."""
    return (
        f"{processor()}, {torch.get_num_threads()} threads, torch {torch.__version__}, "
        f"{torch.backends.cpu.get_cpu_capability()}, {datetime.date.today().isoformat()}"
    )


def readers() -> dict[str, object]:
    """Reductions that only read memory; the fastest of them tells the read bandwidth."""
    words = huge_pages.zeros((READ_BYTES // 8,), torch.int64).fill_(1)
    floats = words.view(torch.float32)
    matrix = floats.view(1 << 13, -1)
    vector = torch.ones(matrix.shape[1])
    return {
        "read int64 max": words.max,
        "read float32 sum": floats.sum,
        "read float32 matrix-vector": lambda: matrix @ vector,
    }
