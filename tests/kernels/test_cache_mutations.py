# SPDX-License-Identifier: Apache-2.0
"""The detectors on the kernels around the caches: every synchronisation that is left out is reported."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calls
from cache_calls import copy_of
from cache_kernels import random_query, random_tokens
from sals.simulator import Result, run_project_query, run_write_cache

Run = Callable[..., Result]
SCHEDULES = (0, 5, 9)
CORES = 2

# Left out without harm, with the reason.
REDUNDANT = {
    "AIV V_S(0)": "GatherMask lets the scalar unit wait here; for a device no page says that its count does",
}


def projection(**changes: Any) -> Run:
    call = random_query(**changes)
    return lambda **options: run_project_query(**call, cores=CORES, **options)[2]


def write(tokens: int, *arguments: Any, **changes: Any) -> Run:
    slots = np.random.default_rng(96).integers(-1, 64, tokens)
    call = random_tokens(calls.write_cache(*arguments, **changes), slots)
    return lambda **options: run_write_cache(**copy_of(call), cores=CORES, **options)


# Together they run every synchronisation of a kernel.
KERNELS: dict[str, tuple[Run, ...]] = {
    "project_query": (
        projection(tokens=40, group=3),
        projection(tokens=36, n_idx=1, group=1, head_dim=256, rank=256, dtype="float32"),
        projection(tokens=70, group=4, head_dim=96, rank=128, dtype="float16"),
    ),
    "write_cache": (
        write(40, "PA_BNSD", False),
        write(60, "PA_KV", True, "float32", head_dim=80),
        write(40, "BSND", True, "float16", 1, 256),
        write(66, "PA_NZ", False, head_dim=192),
    ),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_synchronisation_is_needed(kernel):
    runs: dict[str, list[tuple[Run, int]]] = defaultdict(list)
    for run in KERNELS[kernel]:
        for seed in SCHEDULES:
            result = run(seed=seed)
            assert not result.findings, str(result)
            for site in result.sync_sites:
                for mutation in {site.key, site.pair} - {""}:
                    runs[mutation].append((run, seed))
    assert len(runs) > 50
    missed = [
        name
        for name, all_runs in runs.items()
        if name not in REDUNDANT
        and not any(run(seed=seed, mutation=(name, -1)).findings for run, seed in all_runs)
    ]
    assert not missed, "not reported:\n" + "\n".join(sorted(missed))
