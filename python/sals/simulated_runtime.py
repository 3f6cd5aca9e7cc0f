# SPDX-License-Identifier: Apache-2.0
"""The simulated CANN runtime of a build with ``-DSALS_NPU_SIM=ON``: an unmodified torch_npu runs on it.

Nothing it gives is a result of an NPU; see ``simulator/runtime/README.md``.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
from pathlib import Path

# In this order: a library is found by those that follow. libopapi comes last; it links to torch.
_BEFORE_TORCH = ("ascendcl", "hccl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel")


def folder() -> Path | None:
    """Find the runtime that this installation carries.

    Returns
    -------
    Path or None
        The folder of its libraries; None if there are none, or no torch_npu to run on them.
    """
    libraries = Path(__file__).parent / "npu_runtime"
    return libraries if libraries.is_dir() and importlib.util.find_spec("torch_npu") is not None else None


def load(name: str) -> ctypes.CDLL:
    """Load a library of the runtime, for its functions that tests call.

    Raises
    ------
    FileNotFoundError
        If this installation carries no runtime.
    """
    libraries = folder()
    if libraries is None:
        raise FileNotFoundError("sals: this installation has no simulated runtime. Run: make test-npu")
    return ctypes.CDLL(str(libraries / f"lib{name}.so"), ctypes.RTLD_GLOBAL)


def start() -> None:
    """Load the runtime, then torch and torch_npu. `import sals` calls it, if there is a runtime.

    torch must not have loaded torch_npu before: that would have looked for a real runtime.
    """
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    os.environ.pop("ASCEND_HOME_PATH", None)
    for name in _BEFORE_TORCH:
        load(name)
    os.environ["ASCEND_CUSTOM_OPP_PATH"] = str(Path(__file__).parent / "npu_runtime/opp")
    importlib.import_module("torch")
    load("opapi")
    importlib.import_module("torch_npu")
