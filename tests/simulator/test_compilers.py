# SPDX-License-Identifier: Apache-2.0
"""Kernels compile with clang, too, and do the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from sals import simulator

KERNELS = Path(__file__).parent / "kernels"
CLANG = next((name for name in ("clang++", "clang++-15", "clang++-14") if shutil.which(name)), None)


@pytest.mark.skipif(CLANG is None, reason="clang is not installed")
def test_a_kernel_built_by_clang_does_the_same():
    x = np.random.default_rng(3).standard_normal(256 * 4 * 4).astype(np.float32)
    results = {}
    for compiler in ("g++", CLANG):
        library = simulator.build(KERNELS / "detectors.cpp", compiler=compiler)
        for entry in ("scale_none", "scale_no_barrier"):
            y = np.zeros_like(x)
            arguments = {"x": x, "y": simulator.output(y)}
            result = simulator.launch(library, entry, arguments, cores=2)
            found = [(f.check, f.line, f.text) for f in result.findings]
            results.setdefault(entry, []).append((y.tobytes(), found, result.cycles))
    for entry, (gcc, clang) in results.items():
        assert gcc == clang, entry
