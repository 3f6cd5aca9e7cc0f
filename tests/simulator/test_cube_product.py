# SPDX-License-Identifier: Apache-2.0
"""Mmad computes what the documentation says, and is ordered with Fixpipe by unit flags."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sals import simulator
from simulator import cube_reference as reference
from simulator.cube_operands import (
    as_fractals,
    garbage_for,
    launch,
    operands,
    parameters,
    random_values,
    result_type,
)


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("cube_product")


def multiply(library, entry, name, shape, *, bias=None, pairs=False, seed=0):
    m, n, k = shape
    rng = np.random.default_rng([m, n, k])
    a, b, (left, num_left), (right, num_right) = operands(rng, name, m, n, k, pairs)
    bias = np.zeros(256, result_type(name)) if bias is None else bias
    y = np.zeros((m, n), result_type(name))
    params = parameters(m, n, k, num_left, num_right, pairs)
    arguments = {"a": left, "b": right, "bias": bias, "y": simulator.output(y), "p": params}
    launch(library, entry, arguments, seed=seed)
    return a @ b, y


SHAPES = [
    (16, 16, 64),
    (1, 64, 64),
    (1, 1, 128),
    (30, 40, 70),
    (17, 33, 2),
    (2, 50, 200),
    (64, 16, 10),
    (128, 32, 128),
]


@pytest.mark.parametrize("name", ("int4", "int8", "half", "bfloat16", "float"))
@pytest.mark.parametrize("shape", SHAPES)
def test_product(library, name, shape):
    expected, y = multiply(library, f"product_{name}", name, shape)
    np.testing.assert_array_equal(y, expected.astype(y.dtype))


@pytest.mark.parametrize("seed", (0, 1))
@pytest.mark.parametrize("name", ("int4", "int8", "half"))
@pytest.mark.parametrize("shape", [(1, 100, 64), (20, 20, 40)])
def test_product_added_to_what_l0c_holds(library, name, shape, seed):
    expected, y = multiply(library, f"sum_{name}", name, shape, seed=seed)
    np.testing.assert_array_equal(y, (2 * expected).astype(y.dtype))


@pytest.mark.parametrize("name", ("int8", "float"))
@pytest.mark.parametrize("shape", [(1, 100, 64), (33, 50, 40)])
@pytest.mark.parametrize("bias_from", ("biased", "table"))  # a tensor, or the beginning of the bias table
def test_product_with_bias(library, name, shape, bias_from):
    bias = np.arange(-100, 156).astype(result_type(name))
    expected, y = multiply(library, f"{bias_from}_{name}", name, shape, bias=bias)
    np.testing.assert_array_equal(y, (expected + bias[: shape[1]]).astype(y.dtype))


@pytest.mark.parametrize("k", (8, 36, 44))
def test_fractals_of_float_come_in_pairs(library, k):
    expected, y = multiply(library, "product_float", "float", (40, 20, k), pairs=True)
    np.testing.assert_array_equal(y, expected.astype(np.float32))


def test_sums_of_float_run_in_order_of_k(library):
    # 2**24 + 1 is lost, 1 + 1 + 2**24 is not: the order shows.
    rng = np.random.default_rng(0)
    a = np.array([[1, 1, 2.0**24, 1, 0, 0, 0, 0]] * 2, np.float32)
    b = np.ones((8, 16), np.float32)
    garbage = garbage_for(rng, "float")
    left, num_left = as_fractals(reference.left_fractals(a, "float", garbage), "float")
    right, num_right = as_fractals(reference.right_fractals(b, "float", garbage), "float")
    y = np.zeros((2, 16), np.float32)
    arguments = {
        "a": left,
        "b": right,
        "bias": np.zeros(256, np.float32),
        "y": simulator.output(y),
        "p": parameters(2, 16, 8, num_left, num_right, 0),
    }
    launch(library, "product_float", arguments)
    assert (y == np.float32(np.float32(2.0**24 + 2) + np.float32(1))).all()


def handed_over(library, entry, seed, clean):
    rng = np.random.default_rng(5)
    a, b, (left, _), (right, _) = operands(rng, "int8", 32, 32, 32)
    y = np.zeros((2, 32, 32), np.int32)
    result = launch(library, entry, {"a": left, "b": right, "y": simulator.output(y)}, clean=clean, seed=seed)
    return a @ b, y, result


@pytest.mark.parametrize("seed", range(5))
def test_unit_flags_order_mmad_and_fixpipe(library, seed):
    expected, y, _ = handed_over(library, "unit_flags", seed, clean=True)
    np.testing.assert_array_equal(y, np.stack([expected, expected]))


def test_without_unit_flags_mmad_and_fixpipe_race(library):
    *_, result = handed_over(library, "no_unit_flags", 0, clean=False)
    assert {f.check for f in result.findings} == {"racecheck"}


@pytest.mark.parametrize("name", ("int8", "half", "float"))
@pytest.mark.parametrize("shape", [(40, 50, 70), (16, 16, 32), (5, 33, 8)])
def test_product_of_rows_in_gm(library, name, shape):
    m, n, k = shape
    rng = np.random.default_rng([m, n, k])
    values = random_values(rng, name)
    dtype = {"int8": np.int8, "half": np.float16, "float": np.float32}[name]
    a, b = values((m, k)).astype(dtype), values((k, n)).astype(dtype)
    y = np.zeros((m, n), result_type(name))
    stored = np.ascontiguousarray(b.T) if name == "float" else b
    arguments = {"a": a, "b": stored, "y": simulator.output(y), "p": parameters(m, n, k)}
    launch(library, f"matmul_{name}", arguments)
    np.testing.assert_array_equal(y, a.astype(y.dtype) @ b.astype(y.dtype))


BROKEN = [
    (0, "memcheck", "dst must start at a multiple of 1024 bytes"),
    (1, "memcheck", "fm must start at a multiple of 512 bytes"),
    (2, "memcheck", "n must be in [0, 4095], got 4096"),
    (3, "memcheck", "fm must be in L0A, it is in L0B"),
    (4, "memcheck", "unitFlag must be 0, 2 or 3, got 1"),
    (5, "memcheck", "use LoadDataWithTranspose"),
    (6, "memcheck", "repeatTimes must be in [0, 255], got 256"),
    (7, "memcheck", "L1 takes NZ fractals only"),
    (8, "initcheck", "undefined bytes"),
]


@pytest.mark.parametrize("rule, check, text", BROKEN)
def test_broken_rules_are_reported(library, rule, check, text):
    result = launch(library, "broken", {"p": parameters(rule)}, clean=False)
    assert any(f.check == check and text in f.text for f in result.findings), result.findings
    assert all(Path(f.file).name == "cube_product.cpp" for f in result.findings)
