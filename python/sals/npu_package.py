# SPDX-License-Identifier: Apache-2.0
"""The package of NPU operators that a wheel built for Ascend carries, as ``sals/opp``."""

import os
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

    CANN reads the variable when its first operator runs, torch_npu when it is loaded; so this comes before
    torch is imported, which may load torch_npu by itself.

    Parameters
    ----------
    folder : Path or None
        The package's folder; None changes nothing.
    environment : MutableMapping, optional
        Where the variable is; by default the environment of the process.
    """
    if folder is None:
        return
    variables = os.environ if environment is None else environment
    others = [path for path in variables.get(VARIABLE, "").split(":") if path and path != str(folder)]
    variables[VARIABLE] = ":".join([str(folder), *others])
