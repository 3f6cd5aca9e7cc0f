# SPDX-License-Identifier: Apache-2.0
"""Operator calls with tensors on a simulated NPU, and scripts that run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

MODES = ("0", "1", "2")  # TASK_QUEUE_ENABLE: torch_npu launches itself, in a queue, prepares there too

TESTS = Path(__file__).parents[1]
PREAMBLE = """
import sals
import torch
import calls
from npu.npu_calls import on_npu
from sals import simulated_runtime
runtime = simulated_runtime.load("ascendcl")
"""


def on_npu(call: dict[str, Any], device: str = "npu") -> dict[str, Any]:
    """The same call with every tensor on a device."""
    return {name: value.to(device) if hasattr(value, "to") else value for name, value in call.items()}


def run_script(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code after torch_npu has started, in its own process: what it breaks stays broken there."""
    path = os.pathsep.join([str(TESTS), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def expect(code: str, **environment: str) -> str:
    """Output of a script that must succeed."""
    done = run_script(code, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
