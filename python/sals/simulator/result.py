# SPDX-License-Identifier: Apache-2.0
"""What a run of a kernel says: findings, modelled counters, outputs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sals import _sim
from sals.simulator.trace import NOTE, Trace

CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")


@dataclass(frozen=True)
class Finding:
    """One error in the kernel.

    Attributes
    ----------
    check : {"memcheck", "racecheck", "initcheck", "synccheck"}
        Bounds, alignment and instruction rules; unordered accesses; undefined values; flags and barriers.
    core : str
        Where it was seen, such as ``"AIV 7"``.
    file, line
        The kernel's line.
    text : str
        What happened and what to do.
    other_file, other_line
        The other party of a race or of an unbalanced flag; line 0 if there is none.
    """

    check: str
    core: str
    file: str
    line: int
    text: str
    other_file: str = ""
    other_line: int = 0

    def __str__(self) -> str:
        """Show place and text."""
        other = f" and {_place(self.other_file, self.other_line)}" if self.other_line else ""
        return f"{_place(self.file, self.line)}{other}: {self.core}: {self.text}"


def _place(file: str, line: int) -> str:
    """Name a line, below the current folder by its relative path."""
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return f"{file if relative.startswith('..') else relative}:{line}"


def findings_text(findings: Iterable[Finding]) -> str:
    """List findings by check and end with a line that counts them."""
    findings = list(findings)
    lines = []
    for check in CHECKS:
        found = [finding for finding in findings if finding.check == check]
        lines += [f"{check}: {len(found)}", *(f"  {finding}" for finding in found)] if found else []
    return "\n".join([*lines, f"{len(findings)} finding" + ("" if len(findings) == 1 else "s")])


@dataclass(frozen=True)
class PipeCounters:
    """Modelled cycles in which a pipe executed or waited behind a flag or barrier, and its instructions."""

    busy: float
    wait: float
    instructions: int


@dataclass(frozen=True)
class CoreCounters:
    """One core: its pipes and the modelled cycle at which it finished."""

    name: str
    end: float
    pipes: dict[str, PipeCounters]

    @property
    def kind(self) -> str:
        """AIC (cube) or AIV (vector)."""
        return self.name.split()[0]


@dataclass(frozen=True)
class InstructionCount:
    """How often an instruction ran on all cores, and its modelled cycles."""

    count: int
    cycles: float


@dataclass(frozen=True)
class Counters:
    """Modelled work of all cores.

    Attributes
    ----------
    cores : tuple of CoreCounters
    instructions : dict of str to InstructionCount
        By Ascend C name.
    hbm_read_bytes, hbm_write_bytes : float
        Bytes that came from or went to memory behind the L2.
    l2_read_bytes, l2_write_bytes : float
        Bytes that cores asked for, in the L2 or not.
    region_read_bytes, region_write_bytes : dict of str to float
        The bytes that cores asked for, by argument.
    """

    cores: tuple[CoreCounters, ...]
    instructions: dict[str, InstructionCount]
    hbm_read_bytes: float
    hbm_write_bytes: float
    l2_read_bytes: float
    l2_write_bytes: float
    region_read_bytes: dict[str, float]
    region_write_bytes: dict[str, float]

    @property
    def hbm_bytes(self) -> float:
        """Bytes read from and written to memory behind the L2."""
        return self.hbm_read_bytes + self.hbm_write_bytes

    def pipe_table(self) -> str:
        """Lay out, per kind of core and pipe, the busy share of the run and the waiting one."""
        end = max((core.end for core in self.cores), default=0.0)
        lines = [f"{'core':<5}{'pipe':<6}{'busy':>8}{'slowest':>9}{'waiting':>9}{'instructions':>14}"]
        for kind, pipe in self._used_pipes():
            pipes = [core.pipes[pipe] for core in self.cores if core.kind == kind]
            shares = [
                sum(p.busy for p in pipes) / len(pipes),
                max(p.busy for p in pipes),
                sum(p.wait for p in pipes) / len(pipes),
            ]
            busy, slowest, waiting = (f"{share / end:.0%}" if end else "-" for share in shares)
            count = sum(p.instructions for p in pipes)
            lines.append(f"{kind:<5}{pipe:<6}{busy:>8}{slowest:>9}{waiting:>9}{count:>14,}")
        return "\n".join(lines)

    def byte_table(self) -> str:
        """Lay out the bytes by path and by argument."""
        lines = [f"{'bytes':<20}{'read':>16}{'written':>16}"]
        rows = {
            "HBM": (self.hbm_read_bytes, self.hbm_write_bytes),
            "asked for": (self.l2_read_bytes, self.l2_write_bytes),
        }
        for name in {**self.region_read_bytes, **self.region_write_bytes}:
            rows[f"  {name}"] = self.region_read_bytes.get(name, 0), self.region_write_bytes.get(name, 0)
        return "\n".join([*lines, *(f"{name:<20}{r:>16,.0f}{w:>16,.0f}" for name, (r, w) in rows.items())])

    def _used_pipes(self) -> Iterator[tuple[str, str]]:
        for kind in dict.fromkeys(core.kind for core in self.cores):
            cores = [core for core in self.cores if core.kind == kind]
            for pipe in cores[0].pipes:
                if any(core.pipes[pipe].busy for core in cores):
                    yield kind, pipe


@dataclass(frozen=True)
class SyncSite:
    """A synchronisation in the kernel's source.

    Attributes
    ----------
    key : str
        Its kind and place; ``launch(mutation=(key, -1))`` leaves it out.
    pair : str
        Name of a flag whose both sides a mutation leaves out; empty for barriers.
    file, line
        The kernel's line.
    count : int
        How often it ran.
    """

    key: str
    pair: str
    file: str
    line: int
    count: int


@dataclass(frozen=True, eq=False)
class Result:
    """Outcome of a run.

    Attributes
    ----------
    findings : tuple of Finding
    counters : Counters
    cycles : float
        Modelled cycles from the first instruction on, not measured on an NPU; 0 if a seed chose the order.
    launch_cycles : float
        Modelled cycles on top, until a core executes its first instruction; the same for every kernel.
    clock_ghz : float
    sync_sites : tuple of SyncSite
    trace : Trace or None
    outputs : dict of str to array
        What the kernel wrote, by argument.
    """

    findings: tuple[Finding, ...]
    counters: Counters
    cycles: float
    launch_cycles: float
    clock_ghz: float
    sync_sites: tuple[SyncSite, ...]
    trace: Trace | None
    outputs: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the output of that name."""
        return self.outputs[name]

    @property
    def microseconds(self) -> float:
        """Modelled time."""
        return self.cycles / (self.clock_ghz * 1e3)

    def of_check(self, check: str) -> tuple[Finding, ...]:
        """Return the findings of one check: memcheck, racecheck, initcheck or synccheck."""
        if check not in CHECKS:
            raise ValueError(f"sals: check must be one of {', '.join(CHECKS)}, got {check!r}")
        return tuple(finding for finding in self.findings if finding.check == check)

    def time_text(self) -> str:
        """Show the modelled time, and that it is."""
        launch = self.launch_cycles / (self.clock_ghz * 1e3)
        return (
            f"{self.cycles:,.0f} cycles, {self.microseconds:,.1f} us at {self.clock_ghz} GHz, "
            f"and {launch:.1f} us to launch. {NOTE}"
        )

    def __str__(self) -> str:
        """Show counters and findings."""
        findings = findings_text(self.findings)
        if not self.cycles:
            return findings
        time = self.time_text()
        tables = self.counters.pipe_table(), self.counters.byte_table()
        return "\n\n".join([time, *tables, findings])


def result_from(
    raw: Mapping[str, Any],
    names: Iterable[str],
    outputs: dict[str, np.ndarray],
    clock_ghz: float,
    keep_trace: bool,
) -> Result:
    """Give the parts of a launch their names; `names` are those of the arguments, in order."""
    cores = tuple(
        CoreCounters(name, end, {pipe: PipeCounters(*counters) for pipe, counters in pipes.items()})
        for name, end, pipes in raw["cores"]
    )
    totals = ("hbm_read_bytes", "hbm_write_bytes", "l2_read_bytes", "l2_write_bytes")
    counters = Counters(
        cores=cores,
        instructions={name: InstructionCount(count, cycles) for name, count, cycles in raw["instructions"]},
        region_read_bytes=_in_order(raw["region_read_bytes"], names),
        region_write_bytes=_in_order(raw["region_write_bytes"], names),
        **{name: raw[name] for name in totals},
    )
    timeline = {"core_names": [core.name for core in cores], "pipes": _sim.PIPES, "clock_ghz": clock_ghz}
    return Result(
        findings=tuple(Finding(**finding) for finding in raw["findings"]),
        counters=counters,
        cycles=raw["cycles"],
        launch_cycles=raw["launch_cycles"],
        clock_ghz=clock_ghz,
        sync_sites=tuple(SyncSite(**site) for site in raw["sync_sites"]),
        trace=Trace(**raw["trace"], **timeline) if keep_trace else None,
        outputs=outputs,
    )


def _in_order(pairs: Iterable[tuple[str, float]], names: Iterable[str]) -> dict[str, float]:
    values = dict(pairs)
    return {name: values[name] for name in names if name in values}
