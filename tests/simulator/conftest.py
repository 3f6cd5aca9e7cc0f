# SPDX-License-Identifier: Apache-2.0
"""Kernels of tests/simulator/kernels: each source is compiled once, and again only when it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sals import simulator
from sals.simulator import Result

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def kernel_library() -> Callable[[str], Path]:
    """Build ``kernels/<name>.cpp`` and return the library."""
    return lambda name: simulator.build(KERNELS / f"{name}.cpp")


@pytest.fixture(scope="session")
def run_clean() -> Callable[..., Result]:
    """Launch a kernel that must be without findings."""

    def run(library: Path, entry: str, arguments: Mapping[str, Any], **options: Any) -> Result:
        result = simulator.launch(library, entry, arguments, **options)
        assert not result.findings, "\n" + "\n".join(map(str, result.findings))
        return result

    return run
