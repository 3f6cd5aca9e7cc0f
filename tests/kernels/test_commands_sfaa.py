# SPDX-License-Identifier: Apache-2.0
"""``sals sim sfaa`` and ``sals sim step``: small runs, their files, formulas and exit codes."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from sals.cli import app
from sals.selection import Selection
from sals.simulator import run_sfaa
from sals.simulator.listed import distinct_tokens, listed_tokens, make_sfaa_plan
from sals.simulator.qsi_trial import QsiTrial
from sals.simulator.sfaa_trial import SfaaTrial
from sals.simulator.step import StepTrial, run_step
from sfaa_kernel import CASES, inputs_of, lists_of, plan_of

RUNNER = CliRunner(env={"COLUMNS": "300"})  # wide enough not to wrap messages
SMALL = ["--batch", "2", "--seq-len", "3000", "--cores", "2"]


def sim(command: str, *words: str):
    return RUNNER.invoke(app, ["sim", command, *SMALL, *words])


def test_defaults_draw_and_end_with_the_findings(tmp_path):
    files = ["--trace", str(tmp_path / "sfaa.json"), "--plot", str(tmp_path / "sfaa.png")]
    result = sim("sfaa", *files, "--schedules", "3")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[-1] == "0 findings"
    assert sum("0 findings, result equals the reference" in line for line in lines) == 3
    for words in ("not a measurement of an NPU", "of the roofline", "must exchange", "key_cache", "MTE2"):
        assert words in result.output
    assert json.loads((tmp_path / "sfaa.json").read_text())["traceEvents"]
    assert (tmp_path / "sfaa.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "words",
    [
        ["--layout", "BSND", "--head-dim", "64", "--keep", "1"],
        ["--layout", "PA_KV", "--s-q", "4", "--group", "10", "--no-plan"],
        ["--layout", "PA_NZ", "--token-scales", "--block-size", "32", "--seed", "4"],
        ["--no-preload", "--touched", "30"],
    ],
)
def test_other_calls(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = sim("sfaa", "--no-save", *words)
    assert result.exit_code == 0, result.output
    assert "equals the reference" in result.output and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("sfaa", ["--head-dim", "96"], "head_dim"),
        ("sfaa", ["--layout", "PA"], "layout must be one of"),
        ("sfaa", ["--keep", "7/6"], "keep must be in [0, 1]"),
        ("sfaa", ["--batch", "0"], "batch must be positive"),
        ("sfaa", ["--cores", "0"], "cores must be in"),
        ("sfaa", ["--touched", "101"], "touched_percent must be in [0, 100]"),
        ("step", ["--keep", "7/6"], "keep must be in [0, 1]"),
        ("step", ["--rank", "32"], "rank"),
        ("step", ["--group", "0"], "group must be positive"),
    ],
)
def test_calls_that_are_refused(command, words, message):
    result = sim(command, *(["--no-save"] if command == "sfaa" else []), *words)
    assert result.exit_code == 2 and message in result.output, result.output


def test_a_kernel_that_writes_nothing_fails(tmp_path):
    """Another library with the same entry: its results are wrong, and so is the exit code."""
    source = tmp_path / "empty.cpp"
    parameters = ", ".join(["unsigned char*"] * 16)
    source.write_text(f'extern "C" void sals_sfaa({parameters}) {{}}\n')
    library = tmp_path / "empty.so"
    assert RUNNER.invoke(app, ["sim", "build", str(source), "--output", str(library)]).exit_code == 0
    result = sim("sfaa", "--no-save", "--library", str(library))
    assert result.exit_code == 1 and "result is WRONG" in result.output


# Lists of coverage mode are shorter than the planner's bound; it ignores rows of TND behind the last token.
BUDGET_CASES = [case for case in CASES if not case.coverage and case.query_layout == "BSND"]


@pytest.mark.parametrize("case", BUDGET_CASES, ids=lambda case: case.name)
def test_the_plan_of_lists_is_that_of_lengths(case):
    """In budget mode the planner knows from the lengths alone how long the lists are."""
    inputs = inputs_of(case)
    named = {"query": inputs.query, "block_ids": lists_of(case), "seq_lens": inputs.seq_lens}
    found = make_sfaa_plan(named, case.block_size, case.n_kv, 7)
    np.testing.assert_array_equal(found, plan_of(inputs, 7))


def test_an_unknown_plan_is_refused():
    trial = SfaaTrial(batch=1, seq_len=100, cores=1)
    with pytest.raises(ValueError, match="plan must be 'auto'"):
        run_sfaa(**trial.arguments(), **trial.keywords(), plan="best")


def test_tokens_of_lists():
    """Two requests, two heads; holes, a repeat, ids beyond the end and a partial block."""
    ids = np.array([[[[0, 2, -1, 2], [1, 3, 9, -1]]], [[[0, -1, -1, -1], [-1, -1, -1, -1]]]], np.int32)
    inputs = {"block_ids": ids, "seq_lens": np.array([50, 5], np.int32)}
    np.testing.assert_array_equal(listed_tokens(inputs, 16), [[48, 18], [5, 0]])
    assert distinct_tokens(inputs, 16, 2) == 32 + 18 + 5
    shared = {**inputs, "block_ids": ids[:, :, :1]}
    assert distinct_tokens(shared, 16, 2) == 2 * (32 + 5)
    flat = {"block_ids": ids[:, 0], "seq_lens": inputs["seq_lens"], "query_start_loc": np.array([0, 0, 1])}
    np.testing.assert_array_equal(listed_tokens(flat, 16), [[5, 0], [0, 0]])


@pytest.mark.parametrize("token_scales", [False, True])
@pytest.mark.parametrize("layout", ["PA_BNSD", "PA_NZ", "PA_KV"])
def test_bytes_are_those_of_the_formulas(layout, token_scales):
    """Uncut rows; scales of a token share sectors of 128 bytes with tokens that are not listed."""
    trial = SfaaTrial(seq_len=3001, layout=layout, token_scales=token_scales, cores=2, plan=None)
    arguments = trial.arguments()
    outputs, result = trial.run(arguments)
    roof = trial.roofline(result, arguments, outputs)
    assert roof.exchanged_bytes == roof.exchange
    assert 0.99 < roof.traffic < (1.1 if token_scales else 1.02)
    assert 0 < roof.efficiency < 1


def test_step_shows_stages_and_ends_with_the_findings():
    result = sim("step", "--s-q", "2", "--keep", "1/4", "--keep", "1/6", "--races")
    assert result.exit_code == 0, result.output
    for words in ("project_query", "qsi", "sfaa", "keep 1/6", "dense", "not a measurement of an NPU"):
        assert words in result.output
    assert "results equal the references" in result.output
    assert result.output.splitlines()[-1] == "0 findings"


@pytest.mark.parametrize("layout", ["BSND", "PA_KV"])
def test_step_tells_wrong_results(layout, monkeypatch):
    """A list of other blocks, values of another scale: the first request is among those that are checked."""
    trial = StepTrial(batch=5, seq_len=2000, heads=1, layout=layout, cores=2)
    assert not run_step(trial, ["1/4"], check=True).wrong
    attend, select = SfaaTrial.run, QsiTrial.run

    def attend_wrongly(self, arguments, **options):
        (out, lse), result = attend(self, arguments, **options)
        return (np.roll(out, 1, axis=-1), lse), result

    def select_wrongly(self, arguments, **options):
        (ids, lens), result = select(self, arguments, **options)
        return (np.maximum(ids - 1, -1), lens), result

    monkeypatch.setattr(SfaaTrial, "run", attend_wrongly)
    assert len(run_step(trial, ["1/4"], check=True).wrong) == 2
    monkeypatch.setattr(QsiTrial, "run", select_wrongly)
    wrong = run_step(trial, ["1/4"], check=True).wrong
    assert [text.split(",")[0] for text in wrong] == ["qsi", "sfaa", "dense"]


def test_speedup_is_dense_time_over_the_sum():
    times = run_step(StepTrial(batch=1, seq_len=4000, heads=1, cores=2), ["1/4"])
    stages = times.steps[Fraction(1, 4)]
    assert [stage.name for stage in stages] == ["project_query", "qsi", "sfaa"]
    assert all(0 < stage.floor < stage.microseconds for stage in (*stages, times.dense))
    total = sum(stage.microseconds for stage in stages)
    assert times.speedup(Fraction(1, 4)) == times.dense.microseconds / total
    assert times.goal(Fraction(1, 4)) is None


def test_dense_attention_lists_every_token():
    trial = SfaaTrial(batch=1, seq_len=1000, selection=Selection(keep=1), cores=1)
    assert listed_tokens(trial.arguments(), 16).tolist() == [[1000, 1000]]
