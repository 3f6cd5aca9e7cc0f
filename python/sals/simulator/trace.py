# SPDX-License-Identifier: Apache-2.0
"""The timeline of a run: which instruction kept which pipe of which core busy, in modelled time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

NOTE = "Modelled by the simulator; not a measurement of an NPU."


@dataclass(frozen=True, eq=False)
class Trace:
    """Columns, one element per event, in the order in which instructions ended.

    Attributes
    ----------
    core, pipe, name, file : array of int32
        Indices into `core_names`, `pipes`, `names` and `files`.
    begin, end : array of float64
        Modelled cycles.
    line : array of int32
        Line of the kernel that dispatched the instruction.
    clock_ghz : float
        Cycles of a nanosecond.
    """

    core: np.ndarray
    pipe: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    line: np.ndarray
    name: np.ndarray
    file: np.ndarray
    names: list[str]
    files: list[str]
    core_names: list[str]
    pipes: tuple[str, ...]
    clock_ghz: float

    def __len__(self) -> int:
        """Count the events."""
        return len(self.core)

    def microseconds(self, cycles: np.ndarray) -> np.ndarray:
        """Convert modelled cycles to time."""
        return cycles / (self.clock_ghz * 1e3)

    def write_json(self, path: str | Path) -> None:
        """Write the timeline for Perfetto (ui.perfetto.dev) or chrome://tracing.

        A core is a process, a pipe of it a thread; an event shows the kernel's file and line.
        """
        with open(path, "w", encoding="utf-8") as out:
            out.write(f'{{"displayTimeUnit":"ns","otherData":{{"note":{json.dumps(NOTE)}}},"traceEvents":[\n')
            for i, event in enumerate(chain(self._names(), self._events())):
                out.write(",\n" * (i > 0) + event)
            out.write("\n]}\n")

    def _names(self) -> Iterator[str]:
        for core, core_name in enumerate(self.core_names):
            yield _metadata("process_name", core, 0, {"name": core_name})
            yield _metadata("process_sort_index", core, 0, {"sort_index": core})
            for pipe in np.unique(self.pipe[self.core == core]).tolist():
                yield _metadata("thread_name", core, pipe, {"name": self.pipes[pipe]})
                yield _metadata("thread_sort_index", core, pipe, {"sort_index": pipe})

    def _events(self) -> Iterator[str]:
        names = [json.dumps(name) for name in self.names]
        files = [json.dumps(file)[1:-1] for file in self.files]
        begins = self.microseconds(self.begin).tolist()
        lasts = self.microseconds(self.end - self.begin).tolist()
        columns = (column.tolist() for column in (self.core, self.pipe, self.name, self.file, self.line))
        for core, pipe, name, file, line, begin, last in zip(*columns, begins, lasts, strict=True):
            yield (
                f'{{"ph":"X","pid":{core},"tid":{pipe},"ts":{begin:.6f},"dur":{last:.6f},'
                f'"name":{names[name]},"args":{{"at":"{files[file]}:{line}"}}}}'
            )


def _metadata(name: str, core: int, pipe: int, arguments: dict[str, str | int]) -> str:
    return json.dumps({"ph": "M", "pid": core, "tid": pipe, "name": name, "args": arguments})
