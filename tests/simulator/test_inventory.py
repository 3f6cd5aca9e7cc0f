# SPDX-License-Identifier: Apache-2.0
"""Everything of Ascend C that the vendor's two operators use compiles here under its name, and works."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sals import simulator

KERNELS = Path(__file__).parent / "kernels"
LANES = 64

NAMES = """
SetFlag WaitFlag PipeBarrier CrossCoreSetFlag CrossCoreWaitFlag SyncAll DataCopy DataCopyPad Fixpipe LoadData
LoadDataWithTranspose Mmad SetFixpipeNz2ndFlag SetMMLayoutTransform SetAtomicAdd SetAtomicNone Sort32 MrgSort
GatherMask Brcb BlockReduceMax BlockReduceSum WholeReduceMax Copy Duplicate ArithProgression Cast Add Adds Sub
Mul Muls Div Max Exp Log Abs SoftmaxFlashV2 SoftMaxFlashV2TilingFunc InitGlobalMemory InitOutput InitBuffer
Reset Get SetGlobalBuffer GetValue SetL2CacheHint GetPhyAddr SetValue ReinterpretCast SetSize GetSize
SetShapeInfo GetBlockIdx GetBlockNum GetSubBlockIdx GetUserWorkspace ICachePreLoad copy_data_align64
copy_gm_to_ubuf copy_ubuf_to_gm set_flag wait_flag pipe_barrier get_imm GET_TILING_DATA_WITH_STRUCT
KERNEL_TASK_TYPE_DEFAULT ASCEND_IS_AIC ASCEND_IS_AIV ASCENDC_TPL_ARGS_DECL ASCENDC_TPL_ARGS_SEL
ASCENDC_TPL_SEL
DataCopyParams DataCopyExtParams DataCopyPadExtParams DataCopyCO12DstParams Nd2NzParams LoadData2DParams
LoadData2dTransposeParams LoadData3DParamsV2 MmadParams FixpipeParamsV220 CopyRepeatParams BinaryRepeatParams
BrcbRepeatParams GatherMaskParams MrgSort4Info MrgSortSrcList SoftMaxShapeInfo SoftMaxTiling SoftmaxConfig
IsResetLoad3dConfig ConfusionTransposeTiling ShapeInfo QuantMode_t DataCachePreload DataCacheCleanAndInvalid
"""


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("inventory")


@pytest.fixture(scope="module")
def cube(kernel_library):
    return kernel_library("inventory_cube")


def test_every_name_is_used():
    files = ("inventory.cpp", "inventory_cube.cpp", "cube_staging.h", "parameters.h", "vec_library.cpp")
    words = set(re.findall(r"\w+", " ".join((KERNELS / name).read_text() for name in files)))
    assert not set(NAMES.split()) - words


def sorted_records(values: np.ndarray, first: int) -> np.ndarray:
    """Value and index, descending; the index by its bits."""
    order = np.argsort(-values, kind="stable")
    records = np.zeros((values.size, 2), np.float32)
    records[:, 0] = values[order]
    records[:, 1] = (order + first).astype(np.uint32).view(np.float32)
    return records.ravel()


def test_vector(library, run_clean):
    rng = np.random.default_rng(1)
    a = rng.permutation(np.arange(1, LANES + 1)).astype(np.float32) / 4
    b = rng.uniform(-3, 3, LANES).astype(np.float32)
    y = np.zeros((25, LANES), np.float32)
    x = np.concatenate([a, b])
    run_clean(library, "inventory_vector", {"x": x, "y": simulator.output(y)}, kind="vector", cores=1)

    zeros = np.zeros(LANES, np.float32)
    even = np.arange(LANES) % 2 == 0
    exact = [zeros + 2.5, np.where(even, 1, zeros), a + b, a + np.float32(0.5), a - b, a * b, a * 3, a / b]
    exact += [np.maximum(a, b)]
    for slot, expected in enumerate(exact):
        np.testing.assert_array_equal(y[slot], expected)
    # Exp and Log of float64 rounded once; numpy's own float32 functions are less exact.
    np.testing.assert_allclose(y[9], np.exp(b.astype(np.float64)), rtol=2.0**-23)
    np.testing.assert_allclose(y[10], np.log(a.astype(np.float64)), rtol=2.0**-23)
    np.testing.assert_array_equal(y[11], np.abs(b))
    np.testing.assert_array_equal(y[12], b.astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(y[13], np.sign(b) * np.floor(np.abs(b) + 0.5))
    np.testing.assert_array_equal(y[14], a[:8].repeat(8))
    np.testing.assert_array_equal(y[15, :8], a.reshape(8, 8).max(axis=1))
    np.testing.assert_array_equal(y[16, :8], a.reshape(8, 8).sum(axis=1))  # exact in any order
    np.testing.assert_array_equal(y[17, :2].view(np.uint32)[1], a.argmax())
    np.testing.assert_array_equal(y[17, 0], a.max())
    np.testing.assert_array_equal(y[18:20], [a, a])
    np.testing.assert_array_equal(y[20, :32], a[::2])
    halves = [sorted_records(a[:32], 0), sorted_records(a[32:], 32)]
    np.testing.assert_array_equal(y[21:23], halves)
    np.testing.assert_array_equal(y[23:25].ravel(), sorted_records(a, 0))


@pytest.mark.parametrize("seed", (0, 1))
def test_system(library, run_clean, seed):
    x = np.arange(16, dtype=np.int32) + 70
    y = np.zeros(16, np.int32)
    arguments = {"x": x, "y": simulator.output(y), "workspace": simulator.workspace(64)}
    run_clean(library, "inventory_system", arguments, cores=2, seed=seed)
    bits = np.float32(1.5).view(np.int32)
    np.testing.assert_array_equal(y, [2, 1, 16, 32, 32, bits, 71, 2, 5] + [3] * 7)


def test_raw_builtins(library, run_clean):
    fields = 10 + 16 + 18
    tiling = np.arange(48, dtype=np.int32) + 14  # whole datablocks
    y = np.zeros((3, 16), np.int32)
    run_clean(library, "inventory_raw", {"tiling": tiling, "y": simulator.inout(y)}, cores=1)
    np.testing.assert_array_equal(y[:2], tiling[fields - 1])
    assert y[2, 0] == tiling[fields - 1]


@pytest.mark.parametrize("seed", (0, 1))
def test_cube(cube, run_clean, seed):
    rng = np.random.default_rng(7)
    a, b = rng.integers(-128, 128, (2, 16, 32)).astype(np.int8)
    c, d = rng.integers(-8, 9, (2, 16, 16)).astype(np.float16)
    sums, product = np.zeros((16, 16), np.int32), np.zeros((16, 16), np.float32)
    scaled = np.ones((16, 16), np.float16)
    arguments = {"a": a, "b": b, "c": c, "d": d, "sums": simulator.output(sums)}
    arguments |= {"scaled": simulator.inout(scaled), "product": simulator.output(product)}
    run_clean(cube, "inventory_products", arguments, kind="cube", cores=1, seed=seed)
    expected = a.astype(np.int32) @ b.astype(np.int32).T
    np.testing.assert_array_equal(sums, expected)
    step = (expected / 1024).astype(np.float16)
    np.testing.assert_array_equal(scaled, (np.float16(1) + step) + step)
    np.testing.assert_array_equal(product, c.astype(np.float32) @ d.astype(np.float32))


def test_flags(cube, run_clean):
    y = np.zeros((4, 16), np.int32)
    run_clean(cube, "inventory_flags", {"y": simulator.inout(y)}, cores=2, seed=3)
    np.testing.assert_array_equal(y[:, 0], 1)
