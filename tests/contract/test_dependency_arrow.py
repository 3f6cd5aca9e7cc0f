# SPDX-License-Identifier: Apache-2.0
"""The layers include each other only along the dependency arrow."""

from pathlib import Path

import pytest

from tools.check_arrow import violations


def test_no_layer_includes_against_the_arrow() -> None:
    assert violations() == []


OURS = (
    "include/sals/plan.h",
    "aicpu_tiling/qsi_plan.h",
    "aicpu_tiling/planner/partition.h",
    "python/csrc/cpu/sfaa.h",
    "python/csrc/ops/check_tensors.h",
    "simulator/ascendc/engine/core.h",
    "simulator/ascendc/include/kernel_operator.h",
)


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in OURS:
        write(tmp_path, name, "#pragma once\n")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "header"),
    [
        ("include/sals/limits.h", "<cstdint>"),
        ("include/sals/limits.h", '"sals/plan.h"'),
        ("include/sals/limits.h", '"plan.h"'),
        ("aicpu_tiling/planner/partition.cpp", '"partition.h"'),
        ("aicpu_tiling/planner/partition.cpp", '"planner/partition.h"'),
        ("aicpu_tiling/qsi_plan.cpp", '"planner/partition.h"'),
        ("python/csrc/core/module.cpp", "<pybind11/pybind11.h>"),
        ("python/csrc/core/module.cpp", '"qsi_plan.h"'),
        ("python/csrc/cpu/sfaa_avx512.cpp", "<immintrin.h>"),
        ("python/csrc/ops/sfaa.cpp", "<torch/library.h>"),
        ("python/csrc/ops/sfaa.cpp", '"cpu/sfaa.h"'),
        ("aicpu_tiling/aicpu/plan_task.cpp", '"cpu_context.h"'),
        ("aicpu_tiling/aicpu/plan_task.cpp", '"cust_cpu_utils.h"'),
        ("op_host/qsi/tiling.cpp", '"register/op_def_registry.h"'),
        ("op_host/common/plan_task.h", '"opdev/op_executor.h"'),
        ("op_kernel/qsi/kernel.h", '"kernel_operator.h"'),
        ("op_kernel/qsi/kernel.h", '"sals/plan.h"'),
        ("simulator/ascendc/engine/scheduler.cpp", '"engine/core.h"'),
        ("simulator/ascendc/include/ascendc/sync.h", '"engine/core.h"'),
        ("python/csrc/sim/launch.cpp", '"engine/core.h"'),
    ],
)
def test_allowed_include(tree: Path, source: str, header: str) -> None:
    write(tree, source, f"#include {header}\n")
    assert violations(tree) == []


@pytest.mark.parametrize(
    ("source", "header"),
    [
        ("include/sals/limits.h", "<torch/library.h>"),
        ("include/sals/limits.h", "<immintrin.h>"),
        ("include/sals/limits.h", '"planner/partition.h"'),
        ("aicpu_tiling/planner/partition.cpp", '"../qsi_plan.h"'),
        ("aicpu_tiling/planner/partition.cpp", "<ATen/ATen.h>"),
        ("aicpu_tiling/qsi_plan.cpp", '"cpu/sfaa.h"'),
        ("python/csrc/core/module.cpp", "<c10/util/Exception.h>"),
        ("python/csrc/core/module.cpp", '"cpu/sfaa.h"'),
        ("python/csrc/cpu/sfaa.cpp", "<ATen/Parallel.h>"),
        ("python/csrc/cpu/sfaa.cpp", "<pybind11/pybind11.h>"),
        ("python/csrc/cpu/sfaa.cpp", '"ops/check_tensors.h"'),
        ("python/csrc/ops/sfaa.cpp", "<pybind11/pybind11.h>"),
        ("aicpu_tiling/qsi_plan.cpp", '"cpu_context.h"'),
        ("aicpu_tiling/aicpu/plan_task.cpp", '"register/op_def_registry.h"'),
        ("op_host/qsi/tiling.cpp", '"cpu_context.h"'),
        ("op_host/qsi/tiling.cpp", '"kernel_operator.h"'),
        ("op_kernel/qsi/kernel.h", '"planner/partition.h"'),
        ("op_kernel/qsi/kernel.h", "<torch/library.h>"),
        ("op_kernel/qsi/kernel.h", '"engine/core.h"'),
        ("simulator/ascendc/engine/scheduler.cpp", '"kernel_operator.h"'),
        ("simulator/ascendc/engine/scheduler.cpp", '"sals/plan.h"'),
        ("simulator/ascendc/include/ascendc/sync.h", '"sals/plan.h"'),
        ("python/csrc/sim/launch.cpp", '"kernel_operator.h"'),
        ("python/csrc/cpu/sfaa.cpp", '"no/such/header.h"'),
    ],
)
def test_forbidden_include(tree: Path, source: str, header: str) -> None:
    write(tree, source, f"#pragma once\n  #  include {header}\n")
    (problem,) = violations(tree)
    assert problem.startswith(f"{source}:2: ")
