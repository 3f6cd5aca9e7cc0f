# SPDX-License-Identifier: Apache-2.0
"""Run an entry of a kernel library on the simulated chip."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sals import _sim
from sals.simulator.arguments import GmArgument, as_numpy, placed
from sals.simulator.result import Result, result_from

KINDS = {"mix": (True, 2), "cube": (True, 0), "vector": (False, 1)}  # has a cube core, vector cores beside it
MAX_SIMULATED_CORES = 128


def launch(
    library: str | Path,
    entry: str,
    arguments: Mapping[str, Any],
    *,
    cores: int = 24,
    kind: str = "mix",
    seed: int = 0,
    trace: bool | str | Path = False,
    race_detection: bool = True,
    auto_sync: bool = False,
    batch_schedule: bool = True,
    clock_ghz: float = 1.85,
    max_findings: int = 100,
    mutation: tuple[str, int] = ("", -1),
) -> Result:
    """Run a kernel on every core and return what it wrote and what was found.

    Parameters
    ----------
    library : path
        From :func:`sals.simulator.build`.
    entry : str
        Name of a function declared ``extern "C" __global__ __aicore__ void entry(GM_ADDR, ...)``.
    arguments : mapping of str to array, GmArgument, int or None
        In the order of the entry's parameters; the names appear in findings and counters. A plain array or
        CPU tensor is a read-only input, see also `output`, `inout` and `workspace`. None is a null pointer,
        an int is passed by value.
    cores : int
        What ``GetBlockNum`` returns. Chips have 20 or 24 cube cores, and twice as many vector cores.
    kind : {"mix", "cube", "vector"}
        One of `cores` is a cube core with its two vector cores, a cube core, or a vector core.
    seed : int
        0: pipes run in the order of modelled time. Others choose a random legal order, in which modelled time
        has no meaning.
    trace : bool or path
        Keep a timeline in the result; a path also writes it as Chrome-trace JSON.
    race_detection : bool
        Whether to look for accesses that nothing orders.
    auto_sync : bool
        Whether the compiler inserts synchronisation, for kernels written for that.
    batch_schedule : bool
        Whether all cores start together, which SyncAll needs.
    clock_ghz : float
        Clock of the cores.
    max_findings : int
        Findings kept.
    mutation : (str, int)
        Leave out a synchronisation: `key` or `pair` of a `SyncSite` of an earlier run, and the vector core of
        each pair that leaves it out (-1: every core).

    Returns
    -------
    Result
        Arrays given by `output` and `inout` have been written, too.

    Raises
    ------
    ValueError, TypeError
        If an argument or option breaks a rule.
    RuntimeError
        If the library or the entry is not there.
    """
    if kind not in KINDS:
        raise ValueError(f"sals: kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if not 1 <= cores <= MAX_SIMULATED_CORES:
        raise ValueError(f"sals: cores must be in [1, {MAX_SIMULATED_CORES}], got {cores}")
    if seed < 0:
        raise ValueError(f"sals: seed must not be negative, got {seed}")
    if not 0 < clock_ghz < math.inf:
        raise ValueError(f"sals: clock_ghz must be positive and finite, got {clock_ghz}")
    if max_findings < 1:
        raise ValueError(f"sals: max_findings must be at least 1, got {max_findings}")
    options = _sim.LaunchOptions()
    options.cores = cores
    options.cube_cores, options.vectors_per_cube = KINDS[kind]
    options.seed = seed
    options.trace = bool(trace)
    options.race_detection = race_detection
    options.auto_sync = auto_sync
    options.batch_schedule = batch_schedule
    options.clock_ghz = clock_ghz
    options.max_findings = max_findings
    options.mutation = mutation
    gm = {name: _gm_argument(value) for name, value in arguments.items()}
    places = {name: placed(a, name) for name, a in gm.items() if isinstance(a, GmArgument)}
    raw = _sim.launch(
        str(library),
        entry,
        [
            (name, places[name], a.role) if isinstance(a, GmArgument) else (name, a, "input")
            for name, a in gm.items()
        ],
        options,
    )
    outputs = _copy_back(gm, places)
    result = result_from(raw, gm, outputs, clock_ghz, keep_trace=bool(trace))
    if result.trace is not None and not isinstance(trace, bool):
        result.trace.write_json(trace)
    return result


def _gm_argument(value: Any) -> GmArgument | int | None:
    if value is None or isinstance(value, GmArgument):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    return GmArgument(as_numpy(value), "input")


def _copy_back(
    gm: Mapping[str, GmArgument | int | None], places: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    outputs = {}
    for name, argument in gm.items():
        if isinstance(argument, GmArgument) and argument.role in ("output", "inout"):
            if argument.array is not places[name]:
                argument.array[...] = places[name]
            outputs[name] = argument.array
    return outputs
