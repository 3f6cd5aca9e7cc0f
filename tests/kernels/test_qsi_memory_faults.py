# SPDX-License-Identifier: Apache-2.0
"""The detectors on the indexer's kernel: memory faults planted in its source are reported."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from qsi_kernel import LONG, inputs_of, run
from sals import simulator

ROOT = Path(__file__).parents[2]

# name -> file, what stands there once, what replaces it, checks of which one reports it
FAULTS = {
    "dots-too-small": (
        "op_kernel/qsi/memory_plan.h",
        "int32_t dots[QSI_SHARE_TOKENS];",
        "int32_t dots[QSI_SHARE_TOKENS - 8];",
        ("racecheck",),
    ),
    "key-slot-too-small": (
        "op_kernel/qsi/memory_plan.h",
        "int8_t keys[L1_SLOTS][QSI_STEP_BYTES];",
        "int8_t keys[L1_SLOTS][QSI_STEP_BYTES - 512];",
        ("racecheck",),
    ),
    "rows-share-scores": (
        "include/sals/workspace.h",
        "(int64_t{core} * QSI_ROW_SLOTS + row_slot)",
        "(int64_t{core} + row_slot)",
        ("racecheck",),
    ),
    "ring-of-one-slot": (
        "op_kernel/qsi/reduce_scores.h",
        "handoffs_ % QSI_RING_SLOTS * QSI_HANDOFF_TOKENS + dots",
        "handoffs_ % 1 * QSI_HANDOFF_TOKENS + dots",
        ("racecheck", "initcheck"),
    ),
    "a-block-too-many": (
        "op_kernel/qsi/reduce_scores.h",
        "run(1, tokens.count / tiling_.block_size * sizeof(float), 0, 0, 0)",
        "run(1, (tokens.count / tiling_.block_size + 1) * sizeof(float), 0, 0, 0)",
        ("racecheck",),
    ),
    "scores-that-were-not-stored": (
        "op_kernel/qsi/score_row.h",
        "smaller(count_of(i), stored_)",
        "count_of(i)",
        ("racecheck", "initcheck"),
    ),
    "an-id-too-many": (
        "op_kernel/qsi/write_row.h",
        "run(1, count * sizeof(int32_t), 0, 0, 0)",
        "run(1, (count + 1) * sizeof(int32_t), 0, 0, 0)",
        ("racecheck", "memcheck"),
    ),
    "nothing-cleared": (
        "op_kernel/qsi/kernel.h",
        "Duplicate(view<float>(ub, 0), 0.0F, static_cast<int32_t>(sizeof(UbPlan) / sizeof(float)));",
        "",
        ("initcheck",),
    ),
}


def build_with(fault: str, folder: Path) -> Path:
    """Copy the kernel and its contract, plant a fault, and compile."""
    file, old, new, _ = FAULTS[fault]
    for part in ("op_kernel", "include"):
        shutil.copytree(ROOT / part, folder / part)
    text = (folder / file).read_text()
    assert text.count(old) == 1, f"{file} has changed: the fault {fault} has no place"
    (folder / file).write_text(text.replace(old, new))
    return simulator.build(
        folder / "op_kernel/qsi/qsi.cpp",
        include=[folder / "include", folder / "op_kernel"],
        flags=["-O0"],
        output=folder / "qsi.so",
    )


@pytest.mark.parametrize(
    "fault", [pytest.param(f, marks=[pytest.mark.slow] * (i > 1)) for i, f in enumerate(FAULTS)]
)
def test_a_planted_fault_is_reported(fault, tmp_path, monkeypatch):
    monkeypatch.setenv("SALS_CACHE_DIR", str(tmp_path / "cache"))
    library = build_with(fault, tmp_path)
    checks = set()
    for seed in (0, 1, 2):
        _, _, result = run(inputs_of(LONG), cores=2, seed=seed, library=library)
        checks |= {finding.check for finding in result.findings}
    assert checks & set(FAULTS[fault][-1]), checks
