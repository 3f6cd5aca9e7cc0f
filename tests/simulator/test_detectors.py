# SPDX-License-Identifier: Apache-2.0
"""Every kind of error is found, named and placed; the same kernel without it is quiet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sals import simulator

KERNELS = Path(__file__).parent / "kernels" / "detectors.cpp"
CORES = 2
FLOATS = 256 * 4 * 2 * CORES
SEEDS = (0, 1, 2, 3, 4)

# entry -> check, words of the text, words of the line it is placed at
FAULTS = {
    "no_load_flag": ("racecheck", "MTE2_V", "Muls("),
    "no_store_flag": ("racecheck", "_MTE3>", "DataCopy(fault"),
    "no_reuse_flag": ("racecheck", "write after", "DataCopy(ub, x_[t * TILE], TILE)"),
    "no_barrier": ("racecheck", "PipeBarrier<PIPE_V>", "Adds("),
    "no_wait": (
        "synccheck",
        "before the WaitFlag for the previous one",
        "SetFlag<HardEvent::MTE2_V>(id(slot))",
    ),
    "no_set": ("synccheck", "waits for MTE2_V(0)", "WaitFlag<HardEvent::MTE2_V>(id(slot))"),
    "reserved_id": ("synccheck", "ids 6 and 7", "SetFlag<HardEvent::MTE2_V>(id(slot))"),
    "set_twice": ("synccheck", "before the WaitFlag for the previous one", "SetFlag<HardEvent::MTE2_V>(5)"),
    "gm_out_of_bounds": ("memcheck", "of x, which has", "last ? 8 : 0"),
    "ub_out_of_bounds": ("memcheck", "usable bytes", "Muls("),
    "misaligned": ("memcheck", "32", "DataCopy(ub[1]"),
    "undefined_operand": ("initcheck", "undefined bytes of UB", "Muls("),
    "undefined_output": ("initcheck", "undefined bytes to y", "DataCopy(fault"),
    "writes_input": ("memcheck", "input of the kernel", "DataCopy(fault"),
    "scalar_too_early": ("racecheck", "GetValue on pipe S", "("),  # placed at either side
}


@pytest.fixture(scope="module")
def library():
    return simulator.build(KERNELS)


def run_scale(library, entry, **options):
    x = np.random.default_rng(11).standard_normal(FLOATS).astype(np.float32)
    y = np.full_like(x, np.nan)
    result = simulator.launch(
        library, f"scale_{entry}", {"x": x, "y": simulator.output(y)}, cores=CORES, **options
    )
    return x, y, result


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", SEEDS)
def test_a_correct_kernel_is_quiet(library, seed):
    x, y, result = run_scale(library, "none", seed=seed)
    assert not result.findings, result.findings
    np.testing.assert_array_equal(y, x * 2 + 1)


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", (0, 1, 2))
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_placed(library, fault, seed):
    check, words, source = FAULTS[fault]
    _, _, result = run_scale(library, fault, seed=seed)
    lines = KERNELS.read_text().splitlines()
    matching = [f for f in result.findings if f.check == check and words in f.text]
    assert matching, [str(f) for f in result.findings]
    assert any(Path(f.file).name == KERNELS.name and source in lines[f.line - 1] for f in matching), [
        (f.line, lines[f.line - 1]) for f in matching
    ]


def test_every_synchronisation_left_out_is_reported(library):
    _, _, clean = run_scale(library, "none")
    assert len(clean.sync_sites) == 15  # source lines and event ids
    for site in clean.sync_sites:
        for mutation in {site.key, site.pair} - {""}:
            _, _, result = run_scale(library, "none", mutation=(mutation, -1))
            assert result.findings, mutation
            _, _, result = run_scale(library, "none", mutation=(mutation, 1))
            assert result.findings, (mutation, "one vector core of each pair")


def test_the_compilers_synchronisation_can_be_assumed(library):
    _, _, result = run_scale(library, "no_barrier", auto_sync=True)
    assert not result.findings
    _, _, result = run_scale(library, "scalar_too_early", auto_sync=True)
    assert not result.findings
    _, _, result = run_scale(library, "no_load_flag", auto_sync=True)
    assert "racecheck" in {f.check for f in result.findings}


def run_neighbours(library, entry, **options):
    x = np.arange(256 * 2 * CORES, dtype=np.float32)
    y = np.zeros_like(x)
    arguments = {"x": x, "y": simulator.output(y), "scratch": simulator.workspace(x.nbytes)}
    return x, y, simulator.launch(library, f"neighbours_{entry}", arguments, cores=CORES, **options)


@pytest.mark.parametrize("seed", SEEDS)
def test_cores_that_share_memory_must_synchronise(library, seed):
    x, y, result = run_neighbours(library, "synchronised", seed=seed)
    assert not result.findings
    np.testing.assert_array_equal(y, np.roll(x, -256))
    _, _, result = run_neighbours(library, "unordered", seed=seed)
    assert any(f.check == "racecheck" and "SyncAll" in f.text for f in result.findings)


def test_sync_all_needs_batch_scheduling_and_every_core(library):
    _, _, result = run_neighbours(library, "synchronised", batch_schedule=False)
    assert any(f.check == "synccheck" and "SetScheduleMode" in f.text for f in result.findings)
    _, _, result = run_neighbours(library, "one_away")
    assert any(f.check == "synccheck" and "AIV 0 S waits for SyncAll" in f.text for f in result.findings)


@pytest.mark.parametrize(
    ("entry", "words"),
    [("pair_too_many", "16th time"), ("pair_one_sided", "by some of the cores")],
)
def test_cross_core_flags_are_counted(library, entry, words):
    quiet = simulator.launch(library, "pair_in_step", {"none": None}, cores=CORES)
    assert not quiet.findings
    result = simulator.launch(library, entry, {"none": None}, cores=CORES)
    assert any(f.check == "synccheck" and words in f.text for f in result.findings), result.findings


def test_the_scalar_cache_is_not_coherent(library):
    for entry, stale in (("fresh_word", False), ("old_word", True)):
        words = np.zeros(16, np.int32)
        seen = np.zeros(16 * 2 * CORES, np.int32)
        arguments = {"words": simulator.inout(words), "seen": simulator.inout(seen)}
        result = simulator.launch(library, entry, arguments, cores=CORES)
        assert any("DataCacheCleanAndInvalid" in f.text for f in result.findings) == stale, result.findings
        assert seen[16] == (0 if stale else 7)


def test_words_of_one_line_written_by_two_cores_are_reported(library):
    words = np.zeros(16, np.int32)
    result = simulator.launch(library, "shared_line", {"words": simulator.inout(words)}, cores=1)
    assert any(f.check == "racecheck" and "line of 64 bytes" in f.text for f in result.findings)


def test_queues_are_finite(library):
    result = simulator.launch(library, "full_queue", {"x": np.zeros(8, np.float32)}, cores=1)
    assert any("room in the queue of pipe MTE2" in f.text for f in result.findings), result.findings
