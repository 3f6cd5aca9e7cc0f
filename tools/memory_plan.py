# SPDX-License-Identifier: Apache-2.0
"""Print the memory plan of the indexer's kernel, as docs/explanation/qsi-kernel.md shows it."""

import ctypes
from pathlib import Path

from sals import simulator

ROOT = Path(__file__).resolve().parent.parent


def table() -> str:
    """Compile the kernel's own memory_plan.h and ask it."""
    library = ctypes.CDLL(str(simulator.build(ROOT / "tools/memory_plan.cpp", include=[ROOT / "op_kernel"])))
    library.memory_plan_table.restype = ctypes.c_char_p
    return library.memory_plan_table().decode()


if __name__ == "__main__":
    print(table(), end="")
