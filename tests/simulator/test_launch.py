# SPDX-License-Identifier: Apache-2.0
"""Building and launching kernels from Python: arguments, errors, counters, timelines."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from sals import simulator
from sals.simulator.arguments import GM_ALIGNMENT, aligned_empty

TILE = 256
CORES = 4


@pytest.fixture(scope="module")
def copy(kernel_library):
    return kernel_library("copy")


def numbers() -> np.ndarray:
    return np.random.default_rng(1).integers(-(2**31), 2**31, CORES * TILE, dtype=np.int32)


def run_copy(library, x, y, entry="copy_synchronised", **options):
    options = {"cores": CORES, "kind": "vector", **options}
    return simulator.launch(library, entry, {"x": x, "y": y}, **options)


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", range(5))
def test_every_core_does_its_share(copy, run_clean, seed):
    x, y = numbers(), np.zeros(CORES * TILE, np.int32)
    result = run_clean(
        copy, "copy_synchronised", {"x": x, "y": simulator.output(y)}, cores=CORES, kind="vector", seed=seed
    )
    np.testing.assert_array_equal(y, x)
    assert result["y"] is y and (result.cycles > 0) == (seed == 0)


@pytest.mark.sanitize
@pytest.mark.parametrize("seed", range(5))
def test_a_missing_flag_is_a_race_in_any_order(copy, seed):
    y = np.zeros(CORES * TILE, np.int32)
    result = run_copy(copy, numbers(), simulator.output(y), "copy_unsynchronised", seed=seed)
    assert {finding.check for finding in result.findings} >= {"racecheck"}
    for finding in result.of_check("racecheck"):
        assert finding.file.endswith("copy.cpp") and {finding.line, finding.other_line} == {23, 28}
        assert "MTE2" in finding.text and "MTE3" in finding.text
    assert str(result).splitlines()[-1].split()[0] == str(len(result.findings))


def test_counters_say_what_moved(copy):
    result = run_copy(copy, numbers(), simulator.output(np.zeros(CORES * TILE, np.int32)))
    counters, nbytes = result.counters, CORES * TILE * 4
    assert counters.region_read_bytes["x"] == counters.region_write_bytes["y"] == nbytes
    assert counters.region_read_bytes.get("y", 0) == counters.region_write_bytes.get("x", 0) == 0
    assert [core.name for core in counters.cores] == [f"AIV {i}" for i in range(CORES)]
    assert all(core.pipes["MTE2"].instructions == 1 and core.pipes["V"].busy == 0 for core in counters.cores)
    assert counters.instructions["DataCopy"].count == 2 * CORES
    assert "not a measurement" in str(result) and str(result).endswith("\n0 findings")


def test_addresses_do_not_move_modelled_time(copy):
    cycles = set()
    for offset in (0, 1, 5):
        x = np.concatenate([np.zeros(offset, np.int32), numbers()])[offset:]
        cycles.add(run_copy(copy, x, simulator.output(np.zeros(CORES * TILE, np.int32))).cycles)
    assert len(cycles) == 1


def test_the_timeline_is_chrome_trace_json(copy, tmp_path):
    result = run_copy(
        copy, numbers(), simulator.output(np.zeros(CORES * TILE, np.int32)), trace=tmp_path / "copy.json"
    )
    written = json.loads((tmp_path / "copy.json").read_text())
    assert "not a measurement" in written["otherData"]["note"]
    events = written["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert list(processes.values()) == [f"AIV {i}" for i in range(CORES)]
    copies = [e for e in events if e["ph"] == "X" and e["name"] == "DataCopy"]
    assert len(copies) == 2 * CORES
    for event in copies:
        assert threads[event["pid"], event["tid"]] in ("MTE2", "MTE3")
        assert event["dur"] > 0 and event["ts"] + event["dur"] <= result.microseconds * 1.000001
        assert "copy.cpp:" in event["args"]["at"]
    assert len(result.trace) == sum(e["ph"] == "X" for e in events)


@pytest.mark.parametrize("window", [None, (0.0, 1e9)])
def test_the_timeline_is_drawn(copy, tmp_path, window):
    pytest.importorskip("matplotlib")
    result = run_copy(copy, numbers(), simulator.output(np.zeros(CORES * TILE, np.int32)), trace=True)
    simulator.plot_timeline(result.trace, tmp_path / "copy.png", window=window)
    assert (tmp_path / "copy.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no event of AIC 7"):
        simulator.plot_timeline(result.trace, tmp_path / "copy.png", cores=["AIC 7"])


def test_tensors_and_aligned_arrays_are_taken_as_they_are(copy):
    x = torch.from_numpy(numbers())
    y = aligned_empty((CORES, TILE), np.int32)
    assert y.ctypes.data % GM_ALIGNMENT == 0
    run_copy(copy, x, simulator.output(y))
    np.testing.assert_array_equal(y.ravel(), x)
    halves = torch.zeros(2 * CORES * TILE, dtype=torch.bfloat16)
    run_copy(copy, x, simulator.output(halves))
    assert torch.equal(halves.view(torch.int32), x)


def test_what_the_kernel_leaves_is_poison_or_as_it_was(kernel_library):
    library = kernel_library("copy")
    x, y = np.full(8, 5, np.int32), np.full(8, 5, np.int32)
    simulator.launch(library, "nothing", {"x": simulator.inout(x)}, cores=1)
    simulator.launch(library, "nothing", {"x": simulator.output(y)}, cores=1)
    np.testing.assert_array_equal(x, 5)
    np.testing.assert_array_equal(y.view(np.uint8), 0xCD)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("mix", ["AIC 0", "AIV 0", "AIV 1", "AIC 1", "AIV 2", "AIV 3"]),
        ("cube", ["AIC 0", "AIC 1"]),
        ("vector", ["AIV 0", "AIV 1"]),
    ],
)
def test_kinds_of_cores(copy, kind, names):
    result = simulator.launch(copy, "nothing", {"x": None}, cores=2, kind=kind)
    assert [core.name for core in result.counters.cores] == names


@pytest.mark.sanitize
def test_several_threads_launch_at_once(copy):
    def launch(seed):
        x, y = np.arange(cores * TILE, dtype=np.int32), np.zeros(cores * TILE, np.int32)
        result = run_copy(copy, x, simulator.output(y), seed=seed, cores=cores)
        return not result.findings and np.array_equal(x, y)

    cores = 64  # so that the launches overlap
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(launch, range(200)))


@pytest.mark.parametrize("entry", ("throws_its_own", "throws_a_number"))
def test_an_exception_of_the_kernel_outlives_its_library(kernel_library, entry):
    with pytest.raises(RuntimeError, match="the kernel threw"):
        simulator.launch(kernel_library("copy"), entry, {"x": None}, cores=2)


def test_a_launch_after_a_deadlock_is_a_new_one(kernel_library, copy, run_clean):
    for _ in range(2):
        result = simulator.launch(kernel_library("copy"), "waits_for_ever", {"x": None}, cores=2)
        assert [finding.check for finding in result.findings] == ["synccheck"]
        y = simulator.output(np.zeros(CORES * TILE, np.int32))
        run_clean(copy, "copy_synchronised", {"x": numbers(), "y": y}, cores=CORES, kind="vector")


def test_a_library_that_is_not_there(tmp_path):
    with pytest.raises(RuntimeError, match="cannot load the kernel library: .*none.so"):
        simulator.launch(tmp_path / "none.so", "entry", {"x": None})


def test_an_entry_that_is_not_there(copy):
    with pytest.raises(RuntimeError, match='has no entry missing.*extern "C" __global__'):
        simulator.launch(copy, "missing", {"x": None})


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (np.zeros((8, 8), np.int32)[:, ::2], ValueError, "x must be contiguous, got a strided array"),
        (np.array([1, "a"], object), TypeError, "x must hold numbers"),
        ("text", TypeError, "must be an array or a CPU tensor, got str"),
        (torch.zeros(3, device="meta"), ValueError, "takes tensors on cpu, got one on meta"),
        (simulator.output(np.broadcast_to(np.int32(1), 8)), ValueError, "x must be contiguous"),
        (simulator.output(np.frombuffer(bytes(64), np.int32)), ValueError, "x must be writeable"),
    ],
)
def test_arguments_that_are_refused(copy, value, error, message):
    with pytest.raises(error, match=message):
        simulator.launch(copy, "nothing", {"x": value})


def test_shared_memory_is_refused(copy):
    memory = aligned_empty((2 * TILE,), np.int32)
    memory[:] = 0
    with pytest.raises(ValueError, match="x and y must not share memory"):
        run_copy(copy, memory, simulator.output(memory))


@pytest.mark.parametrize("count", [0, 21])
def test_the_number_of_arguments_is_limited(copy, count):
    with pytest.raises(ValueError, match=f"must have 1 to 20 arguments, got {count}"):
        simulator.launch(copy, "nothing", dict.fromkeys(map(str, range(count))))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "scalar"}, "kind must be one of mix, cube, vector, got 'scalar'"),
        ({"cores": 0}, r"cores must be in \[1, 128\], got 0"),
        ({"seed": -1}, "seed must not be negative, got -1"),
        ({"clock_ghz": 0.0}, "clock_ghz must be positive and finite, got 0.0"),
        ({"clock_ghz": float("nan")}, "clock_ghz must be positive and finite, got nan"),
        ({"max_findings": 0}, "max_findings must be at least 1, got 0"),
    ],
)
def test_options_that_are_refused(copy, options, message):
    with pytest.raises(ValueError, match=message):
        simulator.launch(copy, "nothing", {"x": None}, **options)


def test_builds_are_kept_until_something_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("SALS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "value.h").write_text("#define VALUE 1\n")
    source = tmp_path / "kernel.cpp"
    source.write_text(
        '#include "value.h"\nextern "C" void entry(unsigned char* x) { x[0] = VALUE + MORE; }\n'
    )
    first = simulator.build(source, defines=["MORE=0"])
    stamp = first.stat().st_mtime_ns
    assert simulator.build(source, defines=["MORE=0"]) == first and first.stat().st_mtime_ns == stamp
    assert simulator.build(source, defines=["MORE=1"]) != first
    (tmp_path / "value.h").write_text("#define VALUE 2\n")
    assert simulator.build(source, defines=["MORE=0"]) != first
    named = simulator.build(source, defines=["MORE=0"], output=tmp_path / "named.so")
    assert named == tmp_path / "named.so" and named.exists()


def test_a_rebuilt_library_replaces_the_old_one(tmp_path, monkeypatch):
    """A notebook builds to one path again and again: each launch runs what is there now."""
    monkeypatch.setenv("SALS_CACHE_DIR", str(tmp_path / "cache"))
    source, named = tmp_path / "kernel.cpp", tmp_path / "kernel.so"
    for value in (3, 4):
        source.write_text(
            f'extern "C" void entry(unsigned char* x) {{ static unsigned char v = {value}; x[0] = v++; }}\n'
        )
        simulator.build(source, output=named)
        x = np.zeros(1, np.uint8)
        simulator.launch(named, "entry", {"x": simulator.inout(x)}, cores=1, kind="vector")
        assert x[0] == value


def test_a_source_that_does_not_compile(tmp_path):
    source = tmp_path / "kernel.cpp"
    source.write_text('#include "kernel_operator.h"\nvoid f() { AscendC::NoSuchFunction(); }\n')
    with pytest.raises(simulator.BuildError, match="NoSuchFunction"):
        simulator.build(source)
    with pytest.raises(FileNotFoundError, match="no kernel source"):
        simulator.build(tmp_path / "none.cpp")
    with pytest.raises(simulator.BuildError, match="no compiler no-such-compiler"):
        simulator.build(source, compiler="no-such-compiler")
