# SPDX-License-Identifier: Apache-2.0
"""The script for a first run on hardware: it agrees with itself on a CPU, and sees what is wrong."""

import pytest
import torch

from tools import first_run


def test_the_cpu_agrees_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert first_run.main("cpu") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 15
    assert {verdict for _, verdict in lines} == {"equal"}


def test_codes_are_unpacked_with_their_sign() -> None:
    word = sum((code & 15) << 4 * i for i, code in enumerate((0, 1, 7, -8, -1, -7, 3, -2)))
    word -= 1 << 32 if word >= 1 << 31 else 0
    codes = first_run.codes_of(torch.tensor([word], dtype=torch.int32))
    assert codes.tolist() == [[0, 1, 7, -8, -1, -7, 3, -2]]


@pytest.mark.parametrize(
    ("name", "expected", "found", "good"),
    [
        ("block_ids", [3, 5], [3, 6], False),
        ("packed", [0x0003], [0x0004], True),
        ("packed", [0x0003], [0x0005], False),
        ("out", [1.0], [1.001], True),
        ("out", [1.0], [1.01], False),
        ("out", [1.0], [float("nan")], False),
        ("key_scale", [1.0], [1.0000001], False),
    ],
)
def test_verdicts(name: str, expected: list[float], found: list[float], good: bool) -> None:
    kind = torch.int32 if isinstance(expected[0], int) else torch.float32
    pair = torch.tensor(expected, dtype=kind), torch.tensor(found, dtype=kind)
    assert first_run.verdict(name, *pair)[1] is good
