# SPDX-License-Identifier: Apache-2.0
"""The memory plan in the docs is the kernel's."""

from pathlib import Path

from tools import memory_plan

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "qsi-kernel.md"


def test_the_table_is_what_the_kernel_uses():
    assert memory_plan.table() in PAGE.read_text()
