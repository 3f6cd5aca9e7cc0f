# SPDX-License-Identifier: Apache-2.0
"""Starts the unmodified torch_npu on the simulated runtime. Nothing here is a result of an NPU."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from pathlib import Path

# In this order: a library is found by those that follow. libopapi comes last; it links to torch.
BEFORE_TORCH = ("ascendcl", "hccl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel")


def folder() -> Path | None:
    """Where a build with -DSALS_NPU_SIM=ON has installed the runtime, or None. Imports nothing."""
    sals = importlib.util.find_spec("sals")
    if sals is None or importlib.util.find_spec("torch_npu") is None:
        return None
    installed = Path(sals.submodule_search_locations[0]) / "npu_runtime"
    return installed if installed.is_dir() else None


def load(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(folder() / f"lib{name}.so"), ctypes.RTLD_GLOBAL)


def start() -> None:
    """Load the runtime, then torch and torch_npu. To be called before anything imports torch."""
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    os.environ.pop("ASCEND_HOME_PATH", None)
    os.environ["ASCEND_CUSTOM_OPP_PATH"] = str(folder() / "opp")
    for name in BEFORE_TORCH:
        load(name)
    import torch  # noqa: F401

    load("opapi")
    import torch_npu  # noqa: F401
