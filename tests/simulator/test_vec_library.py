# SPDX-License-Identifier: Apache-2.0
"""SoftmaxFlashV2, and the registers of comparisons and reductions, do what the documentation says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sals import simulator

KERNELS = Path(__file__).parent / "kernels"
EPS = 2.0**-24  # half an ulp of float32, relative
ROW = (64 + 8) * 4  # bytes of scratch per row


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("vec_library")


def softmax(x, valid, in_sum=None, in_max=None):
    """The algorithm of the page in float64: y, sum, maximum and the factor of what came before."""
    x = x.astype(np.float64)
    largest = x[:, :valid].max(axis=1)
    if in_max is not None:
        largest = np.maximum(largest, in_max)
    y = np.exp(x - largest[:, None])
    total = y[:, :valid].sum(axis=1)
    if in_max is None:
        return y, total, largest, None
    factor = np.exp(in_max - largest)
    return y, factor * in_sum + total, largest, factor


# m, k, columns that are not padding, bytes of scratch, in place
SHAPES = [
    (8, 64, 64, 8 * ROW, 0),
    (8, 64, 64, 8 * ROW, 1),
    (5, 32, 27, 5 * ROW, 0),
    (40, 128, 128, 17 * ROW, 1),  # 16 rows at a time
    (33, 200, 193, 32 * ROW, 0),
    (3, 2560, 2559, 3 * ROW, 0),  # rows longer than a repeat stride reaches
    (7, 1024, 960, 7 * ROW, 1),
]


@pytest.mark.parametrize("seed", (0, 1))
@pytest.mark.parametrize("narrow", (False, True))
@pytest.mark.parametrize("update", (False, True))
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(library, run_clean, shape, update, narrow, seed):
    m, k, valid, scratch, in_place = shape
    rng = np.random.default_rng([m, k, seed])
    spread = 4.0
    x = rng.normal(0, spread, (m, k)).astype(np.float32)
    in_sum = rng.uniform(1, k, m).astype(np.float32)
    in_max = rng.normal(2 * spread, spread, m).astype(np.float32)
    width = 1 if narrow else 8
    before = np.repeat(np.stack([in_sum, in_max]), width, axis=1)
    y, after = np.zeros_like(x), np.zeros((3, m * width), np.float32)
    arguments = {"x": x, "before": before, "y": simulator.output(y), "after": simulator.output(after)}
    arguments["p"] = np.array([m, k, valid, scratch, in_place, m], np.int32)
    entry = f"softmax_{'update' if update else 'first'}{'_narrow' if narrow else ''}"
    run_clean(library, entry, arguments, kind="vector", cores=1, seed=seed)

    old = (in_sum.astype(np.float64), in_max.astype(np.float64)) if update else (None, None)
    expected, total, largest, factor = softmax(x, valid, *old)
    # A difference d is rounded once, which moves exp by |d| EPS; Exp rounds once or twice.
    exp_error = (np.abs(x - largest[:, None]).max() + 3) * EPS
    # A sum has a rounding per 64 columns and 6 in the tree; the update two products and a sum more.
    sum_error = exp_error + (k / 64 + 6 + 4) * EPS
    np.testing.assert_allclose(y, expected, rtol=exp_error)
    statistics = after.reshape(3, m, width)
    np.testing.assert_array_equal(statistics, statistics[:, :, :1].repeat(width, axis=2))
    np.testing.assert_allclose(statistics[0, :, 0], total, rtol=sum_error)
    np.testing.assert_array_equal(statistics[1, :, 0], largest)
    if update:
        step = np.abs(old[1] - largest).max()
        np.testing.assert_allclose(statistics[2, :, 0], factor, rtol=(step + 3) * EPS)


def run_softmax(library, entry, m, k, valid, scratch, tiled_m, in_place=0):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, k)).astype(np.float32)
    y, after = np.zeros_like(x), np.zeros((3, m * 8), np.float32)
    before = np.ones((2, m * 8), np.float32)
    arguments = {"x": x, "before": before, "y": simulator.output(y), "after": simulator.output(after)}
    arguments["p"] = np.array([m, k, valid, scratch, in_place, tiled_m], np.int32)
    return x, y, simulator.launch(library, entry, arguments, kind="vector", cores=1)


def test_softmax_replaces_a_tiling_for_another_shape(library):
    x, y, result = run_softmax(library, "softmax_first", 24, 64, 64, 8 * ROW, 16)
    assert not result.findings, result.findings
    np.testing.assert_allclose(y, softmax(x, 64)[0], rtol=10 * EPS)


def test_softmax_races_with_a_source_that_was_not_awaited(library):
    _, _, result = run_softmax(library, "softmax_first", 16, 64, 64, 16 * ROW, 16, in_place=2)
    source = (KERNELS / "vec_library.cpp").read_text().splitlines()
    line = next(i for i, text in enumerate(source, 1) if "SoftmaxFlashV2<" in text)
    assert any(f.check == "racecheck" and line in (f.line, f.other_line) for f in result.findings)


REFUSALS = [
    ("softmax_first_narrow", (16, 64, 64, 16 * ROW, 8), "the tiling is for 8 x 64, the shape is 16 x 64"),
    ("softmax_first", (16, 60, 60, 16 * ROW, 16), "srcK must be a multiple of 8"),
    ("softmax_first", (16, 64, 64, ROW - 32, 16), "a row needs 288 bytes of work space"),
    ("softmax_first", (16, 64, 72, 16 * ROW, 16), "oriSrcK must be in [0, 64], got 72"),
    ("softmax_first_narrow", (16, 64, 64, 5 * ROW, 16), "tiling.reduceM must be a multiple of 8, got 5"),
]


@pytest.mark.parametrize("entry, numbers, words", REFUSALS)
def test_softmax_refuses(library, entry, numbers, words):
    _, _, result = run_softmax(library, entry, *numbers)
    assert any(f.check == "memcheck" and words in f.text for f in result.findings), result.findings


def bits_of(flags):
    return np.packbits(flags, bitorder="little")


@pytest.mark.parametrize("mode", (0, 1, 2))
@pytest.mark.parametrize("dtype", (np.float16, np.float32))
def test_select_takes_the_compare_register(library, run_clean, dtype, mode):
    lanes = 256 // np.dtype(dtype).itemsize
    rng = np.random.default_rng(mode)
    a, b = rng.standard_normal((2, 2, lanes)).astype(dtype)
    y = np.zeros_like(a)
    arguments = {"a": a, "b": b, "y": simulator.output(y)}
    arguments["p"] = np.array([mode, y.itemsize], np.int32)
    run_clean(library, "select_by_register", arguments, kind="vector", cores=1)
    if mode == 0:  # the bits of one repeat serve both, those of lanes that were not compared are 0
        first = (a[0] < b[0]) & (np.arange(lanes) < lanes - 3)
        np.testing.assert_array_equal(y, np.where(first, a, b))
    else:
        np.testing.assert_array_equal(y, np.where(a > 0, a, b if mode == 2 else dtype(-7.5)))


def test_select_needs_a_compare_register(library):
    values = np.ones((2, 64), np.float32)
    arguments = {"a": values, "b": values, "y": simulator.output(np.zeros_like(values))}
    arguments["p"] = np.array([3, 4], np.int32)
    result = simulator.launch(library, "select_by_register", arguments, kind="vector", cores=1)
    assert any(f.check == "initcheck" and "compare register" in f.text for f in result.findings)


def test_the_compare_register_is_read(library, run_clean):
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 3, (2, 64)).astype(np.float32)
    y = np.zeros(16, np.uint8)
    run_clean(
        library, "compare_by_register", {"a": a, "b": b, "y": simulator.output(y)}, kind="vector", cores=1
    )
    expected = np.concatenate([bits_of((a >= b) & (np.arange(64) % 2 == 0)), np.zeros(8, np.uint8)])
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", (np.float16, np.float32))
def test_registers_of_reductions(library, run_clean, dtype):
    size = np.dtype(dtype).itemsize
    lanes = 256 // size
    x = np.random.default_rng(size).integers(-99, 100, (5, lanes)).astype(dtype)
    x[3, 17] = 120
    x[1, lanes - 1] = -150  # not an active lane of the minimum
    y, places = np.zeros(3, dtype), np.zeros(3, np.int32)
    arguments = {"x": x, "y": simulator.output(y), "places": simulator.output(places)}
    arguments["p"] = np.array([size], np.int32)
    run_clean(library, "reduce_registers", arguments, kind="vector", cores=1)
    inner = x[:, :-1]
    row, column = np.unravel_index(inner.argmin(), inner.shape)
    assert list(places[:2]) == [3 * lanes + 17, row * lanes + column]
    assert list(y[:2]) == [120, inner.min()]
    # Small integers, whose sums are exact in float32; those of half round, 11 times at most.
    np.testing.assert_allclose(y[2], x.astype(np.float64).sum(), rtol=0 if size == 4 else 11 * 2.0**-11)


@pytest.mark.parametrize("dtype", (np.float16, np.float32))
@pytest.mark.parametrize("bits", (0, 1))
@pytest.mark.parametrize("repeats, stride, lanes", [(1, 8, 5), (7, 9, 33), (300, 5, 61), (4, 0, 64)])
def test_reductions_of_the_lanes_of_a_mask(library, run_clean, dtype, bits, repeats, stride, lanes):
    size = np.dtype(dtype).itemsize
    step = stride * 32 // size
    x = np.random.default_rng(repeats).integers(-50, 51, repeats * step + 256 // size).astype(dtype)
    rows = np.stack([x[r * step : r * step + lanes] for r in range(repeats)])
    y = np.zeros(64, dtype)
    arguments = {"x": x, "y": simulator.output(y)}
    arguments["p"] = np.array([repeats, stride, lanes, bits, size], np.int32)
    run_clean(library, "reduce_masked", arguments, kind="vector", cores=1)
    # Integers: sums below 2^24, and below 2^11 for half, are exact; others of half round once per repeat.
    total = rows.astype(np.float64).sum()
    largest_partial = np.abs(np.cumsum(rows.astype(np.float64).sum(axis=1))).max()
    exact = size == 4 or largest_partial < 2048
    assert abs(float(y[0]) - total) <= (0 if exact else repeats * 2.0**-11 * 2 * largest_partial)
    places = y.view(np.uint16 if size == 2 else np.uint32)
    for at, pick in ((16, np.argmax), (32, np.argmin)):
        row, lane = np.unravel_index(pick(rows), rows.shape)  # the first of equal ones
        assert (y[at], places[at + 1]) == (rows[row, lane], row * (256 // size) + lane)
