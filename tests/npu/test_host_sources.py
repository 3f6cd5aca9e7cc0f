# SPDX-License-Identifier: Apache-2.0
"""The host sources of the operator package run here: nothing stands for them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import calls
from npu.npu_calls import expect, on_npu
from sals import simulated_runtime

FUNCTIONS = {
    "aclnnSalsQsi": "sals::host::qsi_tiling",
    "aclnnSalsSfaa": "sals::host::sfaa_tiling",
    "aclnnSalsProjectQuery": "sals::host::project_query_tiling",
    "aclnnSalsWriteCache": "sals::host::write_cache_tiling",
    "aclnnSalsQsiPlan": "aicpu::SalsQsiPlan",
    "aclnnSalsSfaaPlan": "aicpu::SalsSfaaPlan",
}


def test_registered_functions_run(tmp_path: Path) -> None:
    """The trace has their names from the functions that ran, not from the call."""
    trace = tmp_path / "trace"
    expect(
        """
        for op in ("qsi", "sfaa", "write_cache", "qsi_plan", "sfaa_plan"):
            calls.run(op, on_npu(calls.BUILDERS[op]()))
        calls.run("project_query", on_npu(calls.project_query(rank=64)))
        torch.npu.synchronize()
        """,
        SALS_NPU_TRACE=str(trace),
    )
    lines = [line.split("\t") for line in trace.read_text().splitlines()]
    assert {task: function for _, _, task, _, function in lines if task in FUNCTIONS} == FUNCTIONS


@pytest.mark.parametrize("op", ("qsi", "sfaa", "project_query", "write_cache"))
def test_a_tiling_function_refuses(op: str) -> None:
    """Only op_host knows this sentence. It is the error of the call, and the process goes on."""
    call = on_npu(calls.project_query(rank=64) if op == "project_query" else calls.BUILDERS[op]())
    simulated_runtime.load("ascendcl").sals_npu_other_tiling(1)
    with pytest.raises(RuntimeError, match="the kernel binary was built for another tiling"):
        calls.run(op, call)
    calls.run(op, call)
    torch.npu.synchronize()
