# SPDX-License-Identifier: Apache-2.0
"""`sals eval` and `sals tune` from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

typer = pytest.importorskip("typer", reason="the extra `demo` installs typer")
from typer.testing import CliRunner  # noqa: E402

from integrations.tiny_llama import make_calibration, make_model, random_ids  # noqa: E402
from sals.cli import app  # noqa: E402
from sals.evaluation import run, tune  # noqa: E402
from sals.evaluation.options import EvalOptions  # noqa: E402
from sals.evaluation.results import Results  # noqa: E402


class Letters:
    """A tokenizer of letters, within the tiny model's vocabulary."""

    def __call__(self, text: str, **_: Any) -> Any:
        ids = torch.tensor([[3 + ord(letter) % 94 for letter in text]])
        return type("Encoded", (), {"input_ids": ids})


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A tiny model in place of SmolLM2, and a text of its own; the path of the text."""
    for module in (run, tune):
        monkeypatch.setattr(module, "load_smollm2", lambda dtype: (make_model(), Letters()))
    text = tmp_path / "text.txt"
    text.write_text("".join(chr(40 + int(i) % 80) for i in random_ids(1, 6000)[0]))
    return text


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})


def test_a_small_comparison(tiny: Path, tmp_path: Path) -> None:
    calibration = tmp_path / "calibration.safetensors"
    make_calibration(make_model()).save(calibration)
    options = EvalOptions(
        methods=("dense", "sals", "stca", "streaming"),
        budgets=(run.Fraction(1, 2),),
        text=tiny,
        calibration=calibration,
        window=512,
        context=448,
        scored=64,
        steps=2,
        needle_tokens=512,
        needle_depths=(0.5,),
        endless=128,
        output=tmp_path / "out",
    )
    lines: list[str] = []
    page = run.run_eval(options, lines.append)
    text = page.read_text()
    for heading in ("Where SALS wins", "## Quality", "## Memory", "## Needles", "## Retention", "## Beyond"):
        assert heading in text
    results = Results.load(tmp_path / "out" / "results.json")
    assert {row.name: len(row.kl) for row in results.rows} == {
        "dense": 4, "sals": 4, "stca": 4, "streaming": 4,
    }  # fmt: skip
    assert len(results.needles) == 2 * 5
    assert [part["end"] for part in results.endless[0]["stretches"]] == [576]
    assert any("needle multi-key at depth 0.5" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", "--methods", "h3o"], "methods must be among"),
        (["eval", "--budgets", "x"], "budgets must be shares such as"),
        (["eval", "--places", "0"], "places must be positive"),
        (["eval", "--memory-gib", "-1"], "memory_gib must be positive"),
        (["eval", "--text", "/nowhere"], "No such file"),
        (["tune"], "either budget or memory must be given"),
        (["tune", "--budget", "10", "--memory-mib", "1"], "either budget or memory must be given"),
        (["tune", "--budget", "10", "--context", "20"], "budget must hold sinks"),
        (["tune", "--budget", "10", "--context", "99999"], "text must have at least 99,999 tokens"),
        (["tune", "--memory-mib", "0.01", "--context", "512"], "memory must be at least"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_wrong_arguments(tiny: Path, arguments: list[str], message: str) -> None:
    text = ["--text", str(tiny)] if arguments[0] == "tune" else []
    result = invoke(*arguments, *text)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


def test_a_text_that_is_too_short(tiny: Path) -> None:
    result = invoke("eval", "--text", str(tiny), "--quick")
    assert result.exit_code == 2
    assert "text must have at least 7,4" in " ".join(result.output.replace("│", " ").split())


def test_tune(tiny: Path) -> None:
    result = invoke("tune", "--budget", "128", "--context", "512", "--text", str(tiny))
    assert result.exit_code == 0, result.output
    assert "keeps 12" in result.output and "variance" in result.output
    assert 'attach(model, method="stca", budget=512, coverage=0.' in result.output
    by_memory = invoke("tune", "--memory-mib", "0.15", "--context", "512", "--text", str(tiny))
    # 0.15 MiB are 273 slots of 144 bytes in each of 2 layers and 2 heads; 64 new tokens and half a page
    # leave 201.6.
    assert by_memory.exit_code == 0 and "keeps 202 of 512" in by_memory.output
