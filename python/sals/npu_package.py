# SPDX-License-Identifier: Apache-2.0
"""The package of NPU operators that a wheel built for Ascend carries, as ``sals/opp``."""

import os
import sys
import warnings
from collections.abc import MutableMapping
from pathlib import Path

VARIABLE = "ASCEND_CUSTOM_OPP_PATH"
LIBRARY = Path("op_api/lib/libcust_opapi.so")


def package_folder(root: Path | None = None) -> Path | None:
    """Find the operator package of this installation.

    Parameters
    ----------
    root : Path, optional
        Folder of the installed ``sals``; by default the one this module is in.

    Returns
    -------
    Path or None
        The package's folder, or None where this installation has none, as on a CPU.
    """
    folder = (root or Path(__file__).parent) / "opp"
    return folder if (folder / LIBRARY).is_file() else None


def announce(folder: Path | None, environment: MutableMapping[str, str] | None = None) -> None:
    """Put the package in front of those in which CANN looks for kernels and AI CPU tasks.

    The operators' own library is found without the variable (``python/csrc/npu/operator_library.h``). CANN
    may read it only once, when the process first uses an NPU.

    Parameters
    ----------
    folder : Path or None
        The package's folder; None changes nothing.
    environment : MutableMapping, optional
        Where the variable is; by default the environment of the process.

    Warns
    -----
    RuntimeWarning
        If an NPU was used before, and the variable did not name the package then.
    """
    if folder is None:
        return
    variables = os.environ if environment is None else environment
    known = [path for path in variables.get(VARIABLE, "").split(":") if path]
    if str(folder) not in known and _is_npu_in_use():
        warnings.warn(
            "sals: an NPU was used before `import sals`, so CANN may not find its kernels. "
            f"Import sals first, or start Python with {VARIABLE}={folder}",
            RuntimeWarning,
            stacklevel=2,
        )
    variables[VARIABLE] = ":".join([str(folder), *(path for path in known if path != str(folder))])


def _is_npu_in_use() -> bool:
    torch_npu = sys.modules.get("torch_npu")
    return torch_npu is not None and torch_npu.npu.is_initialized()
