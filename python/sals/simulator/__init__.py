# SPDX-License-Identifier: Apache-2.0
"""Run Ascend C kernels on a CPU: unchanged sources, checked for memory, race and synchronisation errors.

``build`` compiles a kernel, ``launch`` runs an entry of it on NumPy arrays, ``run_qsi`` runs the indexer,
``run_sfaa`` the attention, ``run_project_query`` and ``run_write_cache`` what surrounds the caches.
Cycles are modelled. They are not measurements of an NPU.
"""

from sals.simulator.arguments import inout, output, workspace
from sals.simulator.build import BuildError, build
from sals.simulator.cache import run_project_query, run_write_cache
from sals.simulator.launch import launch
from sals.simulator.qsi import run_qsi
from sals.simulator.result import CoreCounters, Counters, Finding, PipeCounters, Result, SyncSite
from sals.simulator.roofline import Roofline
from sals.simulator.sfaa import run_sfaa
from sals.simulator.timeline import plot_timeline
from sals.simulator.trace import Trace

__all__ = [
    "BuildError",
    "CoreCounters",
    "Counters",
    "Finding",
    "PipeCounters",
    "Result",
    "Roofline",
    "SyncSite",
    "Trace",
    "build",
    "inout",
    "launch",
    "output",
    "plot_timeline",
    "run_project_query",
    "run_qsi",
    "run_sfaa",
    "run_write_cache",
    "workspace",
]
