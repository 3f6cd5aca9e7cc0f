# SPDX-License-Identifier: Apache-2.0
"""Fixpipe, and DataCopy from CO1, convert results and lay them out as the documentation says."""

from __future__ import annotations

import numpy as np
import pytest

from sals import simulator
from simulator import cube_reference as reference
from simulator.cube_operands import (
    launch,
    operands,
    parameters,
    result_type,
)


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("cube_results")


WINDOW = 16384  # bytes of L1 that are looked at
QUANT = [
    "NoQuant",
    "F322F16",
    "F322BF16",
    "DEQF16",
    "VDEQF16",
    "QF322B8_PRE",
    "VQF322B8_PRE",
    "REQ8",
    "VREQ8",
]

# m, n of C; then nSize, mSize, srcStride, dstStride, ndNum, srcNdStride, dstNdStride, first row
OUT_ROWS = [
    ((48, 64), (64, 48, 48, 64, 1, 0, 0, 0)),
    ((30, 40), (40, 30, 32, 50, 1, 0, 0, 0)),
    ((1, 100), (100, 1, 16, 100, 1, 0, 0, 0)),
    ((32, 64), (32, 20, 32, 40, 2, 4, 900, 0)),
    ((40, 20), (20, 13, 48, 20, 1, 0, 0, 17)),
]
OUT_FRACTALS = [
    ((48, 64), (64, 48, 48, 100, 1, 0, 0, 0)),
    ((30, 48), (48, 30, 32, 70, 1, 0, 0, 0)),
    ((16, 16), (16, 7, 16, 16, 1, 0, 0, 0)),
]


def quant_param(factor, offset=0, signed=False):
    bits = int(np.float32(factor).view(np.uint32))
    return bits | (offset & 0x1FF) << 37 | signed << 46


def results(
    library, entry, name, shape, out, mode, param=0, relu=False, split=False, dtype=None, extra=None, y=None
):
    """C, and the elements of y before and after its way out."""
    (m, n), k = shape, 32
    rng = np.random.default_rng([m, n])
    a, b, (left, num_left), (right, num_right) = operands(rng, name, m, n, k)
    n_size, m_size, src_stride, dst_stride, nd_num, src_nd, dst_nd, first = out
    params = parameters(
        m, n, k, num_left, num_right,
        n_size, m_size, src_stride, dst_stride, QUANT.index(mode), param & 0xFFFFFFFF, param >> 32, relu,
        nd_num, src_nd, dst_nd, split, first * 64,
    )  # fmt: skip
    before = np.random.default_rng(4).integers(0, 100, 2 * WINDOW // np.dtype(dtype).itemsize).astype(dtype)
    y = before.copy()
    arguments = {"a": left, "b": right, **(extra or {}), "y": simulator.inout(y), "p": params}
    launch(library, entry, arguments)
    return (a @ b).astype(result_type(name)), before, y


PARAM = quant_param(1 / 127)
REQUANT = quant_param(0.01, offset=-7, signed=True)
ROWS = [  # entry, operands, mode, parameter, type of y
    ("int32_rows", "int8", "NoQuant", 0, np.int32),
    ("float_rows", "half", "NoQuant", 0, np.float32),
    ("half_rows", "half", "F322F16", 0, np.float16),
    ("bfloat16_rows", "half", "F322BF16", 0, np.uint16),
    ("dequantised_rows", "int8", "DEQF16", PARAM, np.float16),
    ("requantised_rows", "int8", "REQ8", REQUANT, np.int8),
    ("unsigned_rows", "half", "QF322B8_PRE", quant_param(0.37, offset=100), np.uint8),
    ("copied_int32", "int8", "NoQuant", 0, np.int32),
    ("copied_dequantised", "int8", "DEQF16", PARAM, np.float16),
]


@pytest.mark.parametrize("entry, name, mode, param, dtype", ROWS)
@pytest.mark.parametrize("shape, out", OUT_ROWS)
@pytest.mark.parametrize("relu", (False, True))
def test_results_as_rows(library, entry, name, mode, param, dtype, shape, out, relu):
    if entry.startswith("copied") and out[-1]:
        out = (*out[:-1], 0)  # these start at the first row
    c, expected, y = results(library, entry, name, shape, out, mode, param, relu, dtype=dtype)

    def convert(values, _):
        return reference.converted(values, mode, param, dtype, relu)

    reference.result_out(expected, c, out[:2], out[2:4], "rows", convert, out[4:7], out[7])
    np.testing.assert_array_equal(y, expected)


FRACTALS = [  # entry, operands, mode, parameter, type of y, layout
    ("int32_fractals", "int8", "NoQuant", 0, np.int32, "fractals"),
    ("float_fractals", "half", "NoQuant", 0, np.float32, "fractals"),
    ("float_fractals", "half", "NoQuant", 0, np.float32, "split"),
    ("half_fractals", "half", "F322F16", 0, np.float16, "fractals"),
    ("dequantised_fractals", "int8", "DEQF16", PARAM, np.float16, "fractals"),
    ("requantised_fractals", "int8", "REQ8", REQUANT, np.int8, "merged"),
    ("half_to_l1", "half", "F322F16", 0, np.float16, "fractals"),
    ("requantised_to_l1", "int8", "REQ8", REQUANT, np.int8, "merged"),
]


@pytest.mark.parametrize("entry, name, mode, param, dtype, layout", FRACTALS)
@pytest.mark.parametrize("shape, out", OUT_FRACTALS)
def test_results_as_fractals(library, entry, name, mode, param, dtype, layout, shape, out):
    c, expected, y = results(
        library, entry, name, shape, out, mode, param, split=layout == "split", dtype=dtype
    )

    def convert(values, _):
        return reference.converted(values, mode, param, dtype, False)

    dst_stride = out[3] * 32 // np.dtype(dtype).itemsize
    reference.result_out(expected, c, out[:2], (out[2], dst_stride), layout, convert)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("entry", ("dequantised_by_column", "copied_by_column"))
def test_results_with_a_factor_per_column(library, entry):
    shape, out = OUT_ROWS[1]
    factors = np.array([quant_param(0.01 * (j + 1)) for j in range(64)], np.uint64)
    c, expected, y = results(
        library,
        "dequantised_by_column",
        "int8",
        shape,
        out,
        "VDEQF16",
        dtype=np.float16,
        extra={"f": factors},
    )

    def convert(values, column):
        return reference.converted(values, "VDEQF16", factors[column], np.float16, False)

    reference.result_out(expected, c, out[:2], out[2:4], "rows", convert)
    np.testing.assert_array_equal(y, expected)


def test_results_are_added_to_gm(library):
    shape, out = OUT_ROWS[1]
    c, before, y = results(library, "added_rows", "int8", shape, out, "NoQuant", dtype=np.int32)
    added = np.zeros_like(before)
    reference.result_out(added, c, out[:2], out[2:4], "rows", lambda values, _: values)
    np.testing.assert_array_equal(y, before + added)
