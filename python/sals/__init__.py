# SPDX-License-Identifier: Apache-2.0
"""Sparse attention operators for long-context LLM decoding.

Importing ``sals`` registers ``torch.ops.sals.*`` and touches no device. The documented wrappers of
`sals.ops`, `sals.calibrate` and `sals.attach` are imported on first use, as the submodules are.
"""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_SUBMODULES = frozenset(
    {
        "cache",
        "calibration",
        "evaluation",
        "integrations",
        "kept",
        "layouts",
        "methods",
        "npu_package",
        "ops",
        "plan_view",
        "planning",
        "reference",
        "selection",
        "simulated_runtime",
        "simulator",
    }
)
_HOMES = {
    "Calibration": "calibration",
    "Selection": "selection",
    "attach": "integrations.transformers",
    "calibrate": "calibration",
    "detach": "integrations.transformers",
    "plan_async": "planning",
}
_REBUILD = "Build it with `make test` in a checkout, or with `pip install .`."


def _load_operators() -> None:
    """Register ``torch.ops.sals.*``, refusing a torch that this build was not made for."""
    from sals import simulated_runtime
    from sals.npu_package import announce, package_folder

    announce(package_folder())
    if simulated_runtime.folder() is not None:
        simulated_runtime.start()
    import torch

    library = Path(__file__).with_name("_ops.so")
    missing = f"sals: the compiled operators are missing in {library.parent}. {_REBUILD}"
    try:
        from sals._build_info import TORCH_VERSION
    except ModuleNotFoundError as error:
        raise ImportError(missing) from error
    if not library.exists():
        raise ImportError(missing)
    if torch.__version__.split("+")[0] != TORCH_VERSION:
        raise ImportError(
            f"sals: torch must have version {TORCH_VERSION}, which sals was built for, "
            f"got {torch.__version__}. Install torch=={TORCH_VERSION}, or build sals again."
        )
    torch.ops.load_library(str(library))
    cuda_library = library.with_name("_cuda.so")
    if cuda_library.exists() and torch.version.cuda is not None:
        torch.ops.load_library(str(cuda_library))
    npu_library = library.with_name("_npu.so")
    if npu_library.exists() and importlib.util.find_spec("torch_npu") is not None:
        importlib.import_module("torch_npu")
        torch.ops.load_library(str(npu_library))


def __getattr__(name: str) -> Any:
    """Import a submodule, or a public name from its home, when it is first asked for."""
    if name in _SUBMODULES:
        return importlib.import_module(f"sals.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"sals.{_HOMES[name]}"), name)
    if not name.startswith("_"):
        ops = importlib.import_module("sals.ops")
        if name in ops.__all__:
            return getattr(ops, name)
    raise AttributeError(f"module 'sals' has no attribute {name!r}")


_load_operators()
