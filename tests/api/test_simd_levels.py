# SPDX-License-Identifier: Apache-2.0
"""Every instruction set gives the same bits. The set is chosen once per process, so each has its own."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sals

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = Path(sals.__file__).resolve().parents[1]
CALL = """
import torch, sals
query, key = torch.zeros(1, 1, 1, 1).int(), torch.zeros(1, 8, 1, 1).int()
scales, lens = {"query_scale": torch.ones(1, 1, 1), "key_scale": torch.ones(1, 8, 1)}, torch.tensor([8]).int()
sizes = {"max_seq_len": 8, "block_size": 8, "layout": "BSND"}
print(torch.ops.sals.block_scores(query=query, key_cache=key, seq_lens=lens, **scales, **sizes).item())
"""


def run(level: str, *arguments: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(PACKAGE), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "SALS_SIMD": level, "PYTHONPATH": path}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)


@functools.cache
def digests(level: str) -> dict[str, str]:
    """Digests of all results at one level; skips the test where the machine lacks it."""
    done = run(level, str(TESTS / "simd_digest.py"))
    if done.returncode and "on this machine" in done.stderr:
        pytest.skip(f"this machine has no {level}")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("level", ["avx2", "avx512"])
def test_same_bits_as_portable(level):
    found, expected = digests(level), digests("portable")
    assert len(found) == len(expected) > 100
    assert {name for name in expected if found[name] != expected[name]} == set()


def test_an_unknown_level_is_refused():
    done = run("neon", "-c", CALL)
    assert done.returncode != 0
    assert "SALS_SIMD must be portable, avx2 or avx512" in done.stderr and "got neon" in done.stderr


def test_an_empty_level_means_the_best():
    done = run("", "-c", CALL)
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout) == pytest.approx(2.0794415)  # ln 8
