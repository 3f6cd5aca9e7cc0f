# SPDX-License-Identifier: Apache-2.0
"""``sals sim qsi``: a small run, its files and its exit code."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from sals.cli import app

RUNNER = CliRunner(env={"COLUMNS": "300"})  # wide enough not to wrap messages
SMALL = ["--batch", "2", "--seq-len", "3000", "--cores", "2"]


def qsi(*words: str):
    return RUNNER.invoke(app, ["sim", "qsi", *SMALL, *words])


def test_defaults_draw_and_end_with_the_findings(tmp_path):
    files = ["--trace", str(tmp_path / "qsi.json"), "--plot", str(tmp_path / "qsi.png")]
    result = qsi(*files, "--schedules", "3")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[-1] == "0 findings"
    assert sum("0 findings, result equals the reference" in line for line in lines) == 3
    for words in ("not a measurement of an NPU", "of the roofline", "key_cache", "MTE2"):
        assert words in result.output
    assert json.loads((tmp_path / "qsi.json").read_text())["traceEvents"]
    assert (tmp_path / "qsi.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "words",
    [
        ["--layout", "BSND", "--rank", "128", "--order", "score"],
        ["--layout", "PA_NZ", "--s-q", "2", "--coverage", "0.8", "--no-plan"],
        ["--layout", "PA_BSND", "--keep", "1/6", "--block-size", "32", "--seed", "4"],
    ],
)
def test_other_calls(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = qsi("--no-save", *words)
    assert result.exit_code == 0, result.output
    assert "equals the reference" in result.output and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rank", "32"], "query must have rank 64, 128 or 256"),
        (["--layout", "PA"], "layout must be one of"),
        (["--keep", "7/6"], "keep must be in [0, 1]"),
        (["--batch", "0"], "batch must be positive"),
        (["--window", "now"], "could not convert"),
        (["--cores", "0"], "cores must be in"),
    ],
)
def test_calls_that_are_refused(words, message):
    result = qsi("--no-save", *words)
    assert result.exit_code == 2 and message in result.output


def test_a_kernel_that_writes_nothing_fails(tmp_path):
    """Another library with the same entry: its results are wrong, and so is the exit code."""
    source = tmp_path / "empty.cpp"
    parameters = ", ".join(["unsigned char*"] * 13)
    source.write_text(f'extern "C" void sals_qsi({parameters}) {{}}\n')
    library = tmp_path / "empty.so"
    assert RUNNER.invoke(app, ["sim", "build", str(source), "--output", str(library)]).exit_code == 0
    result = qsi("--no-save", "--library", str(library))
    assert result.exit_code == 1 and "result is WRONG" in result.output
