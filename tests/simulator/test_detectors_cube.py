# SPDX-License-Identifier: Apache-2.0
"""Errors between the pipes of a cube core, and between a cube core and its vector cores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sals import simulator

KERNELS = Path(__file__).parent / "kernels" / "detectors_cube.cpp"
CORES, TILES, SIDE, DEPTH = 2, 6, 16, 32

FAULTS = {
    "no_full": ("racecheck", "Put a cross-core flag"),
    "no_empty": ("racecheck", "Put a cross-core flag"),
    "one_empty": ("synccheck", "CrossCoreWaitFlag CrossCore(1)"),
    "no_l1_flag": ("racecheck", "on L1 byte 0"),
    "no_l0_flag": ("racecheck", "MTE1_M"),
    "no_l0c_flag": ("racecheck", "M_FIX"),
    "no_l0c_reuse": ("racecheck", "FIX_M"),
    "no_mmad_barrier": ("racecheck", "PipeBarrier<PIPE_M>"),
    "unit_flag_twice": ("synccheck", "an L0C tile (unitFlag)"),
    "unit_flag_left": ("synccheck", "stays full for the next kernel"),
}


@pytest.fixture(scope="module")
def library():
    return simulator.build(KERNELS)


def run(library, entry, **options):
    """Random operands; the fractals of one 16 x 32 tile are its rows."""
    random = np.random.default_rng(5)
    a = random.integers(-128, 128, (CORES, TILES, SIDE, DEPTH), dtype=np.int8)
    b = random.integers(-128, 128, (SIDE, DEPTH), dtype=np.int8)
    y = np.zeros((CORES, TILES, SIDE, SIDE), np.int32)
    arguments = {
        "a": a,
        "b": b,
        "y": simulator.output(y),
        "scratch": simulator.workspace(CORES * 2 * SIDE * SIDE * 4),
    }
    result = simulator.launch(library, f"products_{entry}", arguments, cores=CORES, **options)
    return 2 * (a.astype(np.int32) @ b.T.astype(np.int32)), y, result


@pytest.mark.sanitize
@pytest.mark.parametrize("entry", ("none", "unit_flag"))
@pytest.mark.parametrize("seed", range(6))
def test_a_correct_pipeline_is_quiet(library, entry, seed):
    expected, y, result = run(library, entry, seed=seed)
    assert not result.findings, result.findings
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(library, fault, seed):
    check, words = FAULTS[fault]
    _, _, result = run(library, fault, seed=seed)
    assert any(f.check == check and words in f.text for f in result.findings), result.findings


def test_every_synchronisation_left_out_is_reported(library):
    for entry in ("none", "unit_flag"):
        for site in run(library, entry)[2].sync_sites:
            for mutation in {site.key, site.pair} - {""}:
                assert run(library, entry, mutation=(mutation, -1))[2].findings, (entry, mutation)
