# SPDX-License-Identifier: Apache-2.0
"""LoadData and LoadDataWithTranspose put fractals where the documentation says."""

from __future__ import annotations

import numpy as np
import pytest

from sals import simulator
from simulator import cube_reference as reference
from simulator.cube_operands import (
    as_fractals,
    launch,
    parameters,
    random_values,
    result_type,
)


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("cube_load")


def load_and_show(library, entry, name, params, seed=0, clean=True):
    """Fractals of L0A or L0B [8, rows, C0] after a load, before it, and those of the source."""
    rng = np.random.default_rng(9)
    c0 = reference.columns_of(name)
    values = random_values(rng, name)
    image, x = values((8, 16 * c0)), values((24, 16 * c0))
    identity = np.eye(c0, dtype=np.int64 if "int" in name else np.float32)
    zeros = np.zeros
    to_b = "_b_" in entry
    other = (reference.left_fractals if to_b else reference.right_fractals)(identity, name, zeros)
    fractals, count = as_fractals(other, name)
    fractals = np.pad(fractals, (0, (8 - count) * reference.FRACTAL_BYTES))
    shape = (c0, 128) if to_b else (128, c0)
    y = np.zeros(shape, result_type(name))
    arguments = {
        "image": reference.storage(image, name),
        "x": reference.storage(x, name),
        "identity": fractals,
        "y": simulator.output(y),
        "p": parameters(*params),
    }
    result = launch(library, entry, arguments, clean=clean, seed=seed)
    shown = (y.T if to_b else y).reshape(8, 16 * c0)
    return image, x, shown, result


LOADS = [(0, 8, 1, 0), (3, 4, 5, 1), (7, 3, 0, 2), (23, 1, 9, 7), (0, 0, 1, 0)]


LOADING = [f"load_{side}_{t}" for side in "ab" for t in ("int8", "half", "int4")] + ["load_b_float"]


@pytest.mark.parametrize("entry", LOADING)
@pytest.mark.parametrize("params", LOADS)
def test_loaded_fractals(library, entry, params):
    image, x, shown, _ = load_and_show(library, entry, entry.split("_")[-1], (*params, 0))
    reference.load_2d(image, x, *params, transpose=False)
    np.testing.assert_array_equal(shown, image)


@pytest.mark.parametrize("seed", (0, 1))
@pytest.mark.parametrize("entry", ("load_a_half", "load_b_half"))
@pytest.mark.parametrize("params", LOADS)
def test_fractals_transposed_while_loading(library, entry, params, seed):
    image, x, shown, _ = load_and_show(library, entry, "half", (*params, 1), seed)
    reference.load_2d(image, x, *params, transpose=True)
    np.testing.assert_array_equal(shown, image)


SQUARES = [  # startIndex, repeatTimes, srcStride, dstGap, dstFracGap
    (0, 1, 1, 0, 0),
    (1, 2, 2, 1, 3),
    (2, 2, 1, 3, 0),
    (1, 2, 0, 0, 1),
]
TRANSPOSING = [f"transpose_a_{t}" for t in ("int8", "half", "float")]
TRANSPOSING += [f"transpose_b_{t}" for t in ("int8", "half", "float", "int4")]


@pytest.mark.parametrize("entry", TRANSPOSING)
@pytest.mark.parametrize("params", SQUARES)
def test_squares_transposed(library, entry, params):
    name = entry.split("_")[-1]
    if name == "int4":
        # Squares of 4 fractals: two fit into the 8 that are shown, 6 into the source.
        params = {0: params, 1: (1, 2, 2, 0, 1), 2: (2, 2, 1, 3, 0), 3: (1, 1, 0, 0, 1)}[
            SQUARES.index(params)
        ]
    image, x, shown, _ = load_and_show(library, entry, name, params)
    reference.load_transposed(image, x, name, *params)
    np.testing.assert_array_equal(shown, image)


def test_int4_is_not_transposed_into_l0a(library):
    *_, result = load_and_show(library, "transpose_a_int4", "int4", (0, 1, 1, 0, 0), clean=False)
    assert "into L0B only" in result.findings[0].text


@pytest.mark.parametrize("name", ("half", "float"))
@pytest.mark.parametrize("transposed", (False, True))
@pytest.mark.parametrize("shape", [(32, 32, 32, 0), (40, 50, 70, 0), (20, 33, 90, 32), (5, 7, 9, 0)])
def test_windows_of_matrices(library, name, transposed, shape):
    m, n, k, first = shape
    rng = np.random.default_rng(shape)
    values = random_values(rng, name)
    dtype = {"half": np.float16, "float": np.float32}[name]
    a, b = values((m, k)).astype(dtype), values((k, n)).astype(dtype)
    y = np.zeros((m, n), np.float32)
    stored = np.ascontiguousarray(a.T) if transposed else a
    entry = f"windows_{name}_transposed" if transposed else f"windows_{name}"
    arguments = {"a": stored, "b": b, "y": simulator.output(y), "p": parameters(m, n, k, first)}
    launch(library, entry, arguments)
    np.testing.assert_array_equal(y, a[:, first:].astype(np.float32) @ b[first:].astype(np.float32))


def test_convolutions_are_refused(library):
    nothing = np.zeros(1, np.int32)
    arguments = {"a": nothing, "b": nothing, "y": nothing, "p": nothing}
    result = launch(library, "convolution", arguments, clean=False)
    assert "not modelled" in result.findings[0].text
