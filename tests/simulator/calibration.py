# SPDX-License-Identifier: Apache-2.0
"""The runs that the vendor has published for Atlas A2/A3, and the same instruction streams on the simulator.

Sources, all in asc-devkit 82b89a1: the examples `data_copy` and `bank_conflict_ub` below
examples/01_simd_cpp_api/05_best_practices/04_memory_access, and the documentation of Mmad's unitFlag.
``python tests/simulator/calibration.py`` prints the table of docs/explanation/cost-model.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from sals import simulator
from sals.simulator.arguments import aligned_empty

KERNELS = Path(__file__).parent / "kernels" / "calibration.cpp"
CLOCK_GHZ = 1.85  # of data_copy: aiv_total_cycles / cores / aiv_time
ADD_CLOCK_GHZ = 1.8  # of bank_conflict_ub: makes every figure a whole number of cycles per instruction
TICK_NS = 20  # GetSystemCycle counts at 50 MHz
ROWS = COLUMNS = 12288


@dataclass(frozen=True)
class Run:
    """One published figure and the function that models it, in the same unit."""

    name: str
    unit: str
    measured: float
    model: Callable[[], float]

    @property
    def error(self) -> float:
        """Modelled against measured, minus one."""
        return self.model() / self.measured - 1


@cache
def library() -> Path:
    """Build the kernels once."""
    return simulator.build(KERNELS)


def _launch(entry: str, arguments: dict, kind: str, cores: int) -> simulator.Result:
    result = simulator.launch(library(), entry, arguments, kind=kind, cores=cores, race_detection=False)
    assert not result.findings, result.findings
    return result


def _walk(
    entry: str,
    tile: tuple[int, int],
    *,
    columns: int = COLUMNS,
    share: int = 1,
    ranges: int = 1,
    repeats: int = 1,
) -> simulator.Result:
    """Read 1 / `share` of the matrix's rows; every core has its own, so time is a share too."""
    kind, cores = ("vector", 48) if entry == "rows_to_ub" else ("cube", 24)
    x = aligned_empty((ROWS // share, columns), np.float16)
    arguments = {
        "x": x,
        "core_rows": ROWS // share // cores,
        "columns": columns,
        "tile_rows": tile[0],
        "tile_columns": tile[1],
        "ranges": ranges,
        "repeats": repeats,
    }
    return _launch(entry, arguments, kind, cores)


def _mte2_us(
    entry: str, tile: tuple[int, int], *, columns: int = COLUMNS, share: int = 1
) -> Callable[[], float]:
    """Mean time in which a core's MTE2 is busy, from 1 / `share` of the rows."""

    @cache
    def model() -> float:
        cores = _walk(entry, tile, columns=columns, share=share).counters.cores
        return share * float(np.mean([c.pipes["MTE2"].busy for c in cores])) / CLOCK_GHZ / 1e3

    return model


def _shared_us(entry: str, tile_rows: int, *, staggered: bool) -> Callable[[], float]:
    """Mean time of MTE2 while every core reads a matrix of 6144 x 512 half past the L2."""

    @cache
    def model() -> float:
        kind, cores = ("vector", 48) if entry == "shared_to_ub" else ("cube", 24)
        rows, columns = 6144, 512
        arguments = {
            "x": aligned_empty((rows, columns), np.float16),
            "rows": rows,
            "columns": columns,
            "tile_rows": tile_rows,
            "tile_columns": 64,
            "staggered": int(staggered),
        }
        counters = _launch(entry, arguments, kind, cores).counters
        return float(np.mean([c.pipes["MTE2"].busy for c in counters.cores])) / CLOCK_GHZ / 1e3

    return model


def _stream_us(*, past_l2: bool) -> Callable[[], float]:
    """Mean time of a core, its launch included, that adds its share of two matrices of 8192 x 8192 half."""

    @cache
    def model() -> float:
        cores, tile = 48, 15360  # the vendor has 16384, with all of UB for itself
        tiles = 8192 * 8192 // tile // cores
        elements = cores * tiles * tile
        arguments = {
            "x": np.zeros(elements, np.float16),
            "y": np.zeros(elements, np.float16),
            "z": simulator.output(np.zeros(elements, np.float16)),
            "core_tiles": tiles,
            "tile": tile,
            "past_l2": int(past_l2),
        }
        result = _launch("stream", arguments, "vector", cores)
        ends = [c.end for c in result.counters.cores]
        return (result.launch_cycles + float(np.mean(ends))) / CLOCK_GHZ / 1e3

    return model


@cache
def four_times(entry: str, ranges: int) -> simulator.Result:
    """Read the matrix four times, one range of columns after the other."""
    return _walk(entry, (64, 1024), ranges=ranges, repeats=4)


def _core_us(entry: str, *, ranges: int) -> Callable[[], float]:
    """Mean run time of a core, its launch included."""

    def model() -> float:
        result = four_times(entry, ranges)
        ends = [c.end for c in result.counters.cores]
        return (result.launch_cycles + float(np.mean(ends))) / CLOCK_GHZ / 1e3

    return model


@cache
def add_cycles(src0: int, src1: int, dst: int, block: int = 1, repeat: int = 8) -> float:
    """Cycles of an addition of 64 repeats; operands by their offset in UB, strides of src0 in blocks."""
    arguments = {
        "x": np.zeros(36 * 1024, np.float32),
        "count": 100,
        "src0": src0,
        "src1": src1,
        "dst": dst,
        "src0_block_stride": block,
        "src0_repeat_stride": repeat,
    }
    adds = _launch("additions", arguments, "vector", 1).counters.instructions["Add"]
    return adds.cycles / adds.count


def _add_ticks(*operands: int) -> Callable[[], float]:
    """Time of 1000 additions."""
    return lambda: 1000 * add_cycles(*operands) / ADD_CLOCK_GHZ / TICK_NS


def _mmad_cycles(m: int, n: int, k: int) -> Callable[[], float]:
    """Cycles of eight multiplications that share k."""

    @cache
    def model() -> float:
        arguments = {"x": np.zeros(1 << 16, np.float16), "count": 8, "m": m, "n": n, "k": k // 8}
        return _launch("multiplications", arguments, "cube", 1).counters.instructions["Mmad"].cycles

    return model


DMA_RUNS = (
    Run("UB 1: 1 x 128 B per DMA", "us", 548.161, _mte2_us("rows_to_ub", (1, 64), share=8)),
    Run("UB 2: 64 x 128 B", "us", 220.772, _mte2_us("rows_to_ub", (64, 64))),
    Run("UB 3: 64 x 2 KiB", "us", 202.657, _mte2_us("rows_to_ub", (64, 1024))),
    Run(
        "UB 4: 64 x 2 KiB, unaligned", "us", 259.047, _mte2_us("rows_to_ub", (64, 1024), columns=COLUMNS - 1)
    ),
    Run("UB 5: four times, 302 MB", "us", 816.05, _core_us("rows_to_ub", ranges=1)),
    Run("UB 6: four times, by quarters", "us", 354.56, _core_us("rows_to_ub", ranges=4)),
    Run(
        "UB 7: all cores in one order, past the L2",
        "us",
        474.717,
        _shared_us("shared_to_ub", 128, staggered=False),
    ),
    Run("UB 8: staggered, past the L2", "us", 307.38, _shared_us("shared_to_ub", 128, staggered=True)),
    Run("L1 1: ND2NZ, 64 x 128 B", "us", 283.508, _mte2_us("rows_to_l1", (64, 64))),
    Run("L1 2: ND2NZ, 64 x 512 B", "us", 214.519, _mte2_us("rows_to_l1", (64, 256))),
    Run(
        "L1 3: ND2NZ, 64 x 512 B, unaligned",
        "us",
        422.515,
        _mte2_us("rows_to_l1", (64, 256), columns=COLUMNS - 1),
    ),
    Run("L1 4: four times, 302 MB", "us", 872.19, _core_us("rows_to_l1", ranges=1)),
    Run("L1 5: four times, by quarters", "us", 397.8, _core_us("rows_to_l1", ranges=4)),
    Run(
        "L1 6: all cores in one order, past the L2",
        "us",
        240.198,
        _shared_us("shared_to_l1", 256, staggered=False),
    ),
    Run("L1 7: staggered, past the L2", "us", 209.8, _shared_us("shared_to_l1", 256, staggered=True)),
    Run("Add 4: through the L2", "us", 257.56, _stream_us(past_l2=False)),
    Run("Add 5: inputs past the L2", "us", 185.15, _stream_us(past_l2=True)),
)

BANK_RUNS = (
    Run("bank 1: no conflict", "ticks", 2390, _add_ticks(0, 0x10100, 0x20000)),
    Run("bank 2: sources in one bank", "ticks", 4167, _add_ticks(0, 0x4000, 0x10000)),
    Run("bank 3: sources in one group", "ticks", 4167, _add_ticks(0, 0x10000, 0x14100)),
    Run("bank 4: write in step with a read", "ticks", 2389, _add_ticks(0, 0x10100, 0x4000)),
    Run("bank 5: write and read in one bank", "ticks", 3751, _add_ticks(0, 0x10100, 0x4020)),
    Run("bank 6: in place", "ticks", 2390, _add_ticks(0, 0x10100, 0x10100)),
    Run("bank 7: one block, moving by one", "ticks", 3584, _add_ticks(0, 0x10100, 0x10100, 0, 1)),
    Run("bank 8: one block, moving by eight", "ticks", 2389, _add_ticks(0, 0x10100, 0x10100, 0, 8)),
)

MMAD_RUNS = (
    Run("Mmad 128 x 256 x 512 in eight", "cycles", 4209, _mmad_cycles(128, 256, 512)),
    Run("Mmad 128 x 128 x 512 in eight", "cycles", 2172, _mmad_cycles(128, 128, 512)),
)

RUNS = (*DMA_RUNS, *BANK_RUNS, *MMAD_RUNS)


def table(runs: Iterable[Run] = RUNS) -> str:
    """Lay out measured and modelled figures as Markdown."""
    lines = ["| run | measured | modelled | error |", "|---|---|---|---|"]
    lines += [f"| {r.name} | {r.measured:g} {r.unit} | {r.model():.4g} | {r.error:+.1%} |" for r in runs]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
