# SPDX-License-Identifier: Apache-2.0
"""The commands ``sals sim ...`` on small kernels: output, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from sals.cli import app

COPY = Path(__file__).parent / "kernels" / "copy.cpp"
RUNNER = CliRunner(env={"COLUMNS": "300"})  # wide enough not to wrap messages
CORES, TILE = 2, 256
ARGUMENTS = ["--arg", f"x=in:int32:{CORES}x{TILE}", "--arg", f"y=out:int32:{CORES}x{TILE}"]


def run_kernel(*words: str):
    return RUNNER.invoke(
        app, ["sim", "run-kernel", str(COPY), "--cores", str(CORES), "--kind", "vector", *words]
    )


def test_a_kernel_without_findings(tmp_path):
    result = run_kernel(
        "--entry", "copy_synchronised", *ARGUMENTS, "--save", str(tmp_path),
        "--trace", str(tmp_path / "t.json"), "--plot", str(tmp_path / "t.png"),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[-1] == "0 findings" and "not a measurement of an NPU" in lines[0]
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.load(tmp_path / "x.npy"))
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


def test_a_kernel_with_findings():
    result = run_kernel("--entry", "copy_unsynchronised", *ARGUMENTS)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    count, word = lines[-1].split()
    assert word.startswith("finding") and int(count) > 0
    assert any(line.startswith("racecheck: ") for line in lines) and "copy.cpp:" in result.output


def test_arguments_from_files(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(CORES * TILE, dtype=np.int32))
    arguments = ["--arg", f"x=in:{tmp_path / 'x.npy'}", "--arg", f"y=inout:{tmp_path / 'x.npy'}"]
    result = run_kernel("--entry", "copy_synchronised", *arguments, "--save", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.arange(CORES * TILE))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=what:3", "got 'x=what:3'"),
        ("x=in:float99:4", "cannot read the argument"),
        ("x=out:int32:0x4", "sizes must be positive"),
        ("x=int:many", "cannot read the argument"),
    ],
)
def test_arguments_that_cannot_be_read(text, message):
    result = run_kernel("--entry", "nothing", "--arg", text)
    assert result.exit_code == 2 and message in " ".join(result.output.split())


@pytest.mark.parametrize("text", ["n=int:0x10", "p=null", "w=workspace:64"])
def test_other_arguments(text):
    assert run_kernel("--entry", "nothing", "--arg", text).exit_code == 0


def test_build_prints_the_library(tmp_path):
    result = RUNNER.invoke(app, ["sim", "build", str(COPY), "--output", str(tmp_path / "copy.so")])
    assert result.exit_code == 0 and result.output.strip() == str(tmp_path / "copy.so")
    assert (tmp_path / "copy.so").exists()


def test_a_source_that_does_not_compile(tmp_path):
    source = tmp_path / "kernel.cpp"
    source.write_text("int f( {\n")
    result = RUNNER.invoke(app, ["sim", "build", str(source)])
    assert result.exit_code == 1 and "kernel.cpp:1" in result.output
