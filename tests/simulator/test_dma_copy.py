# SPDX-License-Identifier: Apache-2.0
"""Moves, atomics and fills leave in memory what the documentation says, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sals import simulator
from simulator import dma_reference as reference

WINDOW = 16384  # bytes of UB or L1 that are looked at


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("dma_copy")


def random_bytes(seed, count=WINDOW):
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


def parameters(*values):
    return np.array(values, np.int32)


def launch(library, entry, arguments, kind="vector", cores=1, **options):
    return simulator.launch(library, entry, arguments, kind=kind, cores=cores, **options)


def window_after(library, entry, params, *, x=None, kind="vector", seed=0):
    """The window's bytes before and after a move, and the source."""
    image, x = random_bytes(1), random_bytes(2, 1 << 17) if x is None else x
    y = np.zeros_like(image)
    result = launch(
        library,
        entry,
        {"image": image, "x": x, "y": simulator.output(y), "params": parameters(*params)},
        kind=kind,
        seed=seed,
    )
    assert not result.findings, result.findings
    return image, x, y


BLOCKS = [  # count, length, source gap, destination gap (datablocks), offsets in bytes
    (1, 8, 0, 0, 0, 0),
    (2, 3, 1, 2, 64, 7),
    (5, 1, 0, 3, 32, 100),
    (7, 16, 5, 0, 0, 1),
    (255, 1, 1, 1, 0, 0),
]


@pytest.mark.parametrize("seed", (0, 1))
@pytest.mark.parametrize("entry, kind", [("copy_in", "vector"), ("copy_in_l1", "cube")])
@pytest.mark.parametrize("params", BLOCKS)
def test_blocks_from_gm(library, entry, kind, params, seed):
    image, x, y = window_after(library, entry, params, kind=kind, seed=seed)
    count, length, src_gap, dst_gap, dst, src = params
    reference.copy_blocks(image, x, count, length, src_gap, dst_gap, dst, src)
    np.testing.assert_array_equal(y, image)


@pytest.mark.parametrize("params", BLOCKS)
def test_blocks_to_gm(library, params):
    image, y = random_bytes(3), random_bytes(4, 1 << 15)
    expected = y.copy()
    count, length, src_gap, dst_gap, src, dst = params
    arguments = {"image": image, "y": simulator.inout(y), "params": parameters(*params)}
    result = launch(library, "copy_out", arguments)
    assert not result.findings, result.findings
    reference.copy_blocks(expected, image, count, length, src_gap, dst_gap, dst, src)
    np.testing.assert_array_equal(y, expected)


def test_blocks_within_ub(library):
    image = random_bytes(5)
    y = np.zeros_like(image)
    params = (6, 2, 1, 3, 8192, 64)
    launch(library, "copy_within", {"image": image, "y": simulator.output(y), "params": parameters(*params)})
    reference.copy_blocks(image, image.copy(), *params)
    np.testing.assert_array_equal(y, image)


@pytest.mark.parametrize("params", [(0, 4, 0, 0, 0, 0), (4, 0, 0, 0, 0, 0)])
def test_zero_counts_move_nothing(library, params):
    image, _, y = window_after(library, "copy_in", params)
    np.testing.assert_array_equal(y, image)


def test_a_count_that_is_no_whole_block_is_reported_and_rounded_down(library):
    image, x = random_bytes(1), random_bytes(2)
    y = np.zeros_like(image)
    arguments = {"image": image, "x": x, "y": simulator.output(y), "params": parameters(19)}
    result = launch(library, "copy_count", arguments)
    assert [f.check for f in result.findings] == ["memcheck"]
    assert "multiple of 32, got 76" in result.findings[0].text
    image[:64] = x[:64]
    np.testing.assert_array_equal(y, image)


PADS = [  # count, bytes, GM stride, UB stride, isPad, left, right, value, SetPadValue?, its value, GM offset
    (1, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (3, 20, 4, 1, 1, 1, 2, 7, 0, 0, 0),
    (4, 36, 1, 0, 1, 0, 3, -5, 0, 0, 3),
    (5, 4, 8, 2, 0, 0, 0, 0, 0, 0, 1),
    (2, 100, 0, 0, 0, 2, 1, 0, 1, 9, 5),
    (9, 8, 40, 0, 1, 1, 0, 3, 1, 4, 0),
]


@pytest.mark.parametrize("bits", (8, 16, 32))
@pytest.mark.parametrize("params", PADS)
def test_padded_blocks_from_gm(library, bits, params):
    count, length, src_stride, dst_stride, is_pad, left, right, value, is_set, set_value, offset = params
    image, x, y = window_after(library, f"pad_in_b{bits}", params)
    dtype = np.dtype(f"int{bits}")
    fill = np.array(value if is_pad else set_value, dtype).tobytes()
    width = dtype.itemsize
    reference.pad_load(
        image, x, count, length, src_stride, dst_stride, left * width, right * width, fill, offset
    )
    np.testing.assert_array_equal(y, image)


def test_padding_without_a_value_is_undefined(library):
    image, x = random_bytes(1), random_bytes(2)
    y = np.zeros_like(image)
    params = parameters(1, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0)
    result = launch(
        library, "pad_in_b32", {"image": image, "x": x, "y": simulator.output(y), "params": params}
    )
    assert {f.check for f in result.findings} == {"initcheck"}


@pytest.mark.parametrize("params", [(1, 7, 0, 0, 5), (4, 47, 1, 1, 3), (3, 64, 2, 33, 0)])
def test_bytes_to_gm(library, params):
    image, y = random_bytes(6), random_bytes(7)
    expected = y.copy()
    arguments = {"image": image, "y": simulator.inout(y), "params": parameters(*params)}
    result = launch(library, "pad_out_b8", arguments)
    assert not result.findings, result.findings
    reference.pad_store(expected, image, *params)
    np.testing.assert_array_equal(y, expected)


# matrices, rows, columns, source strides (matrix, row), destination strides (C0, row, matrix), offset
ND2NZ = [
    (1, 16, 23, 0, 32, 16, 1, 0, 0),
    (2, 8, 23, 384, 32, 37, 2, 320, 0),
    (1, 40, 64, 0, 70, 48, 1, 0, 5),
    (3, 4, 8, 100, 8, 4, 1, 128, 1),
    (1, 1, 1, 0, 1, 1, 1, 0, 0),
]


@pytest.mark.parametrize("bits", (4, 8, 16, 32))
@pytest.mark.parametrize("params", ND2NZ)
def test_rows_become_fractals(library, bits, params):
    image, x, y = window_after(library, f"nd2nz_b{bits}", params, kind="cube")
    width = max(bits // 8, 1)  # 4-bit elements travel as bytes
    reference.nd2nz(image, x, params[:8], width, params[8])
    np.testing.assert_array_equal(y, image)


FINDINGS = [
    ("copy_in", "vector", (1, 1, 0, 0, 16, 0), "dst must start at a multiple of 32 bytes"),
    ("copy_in", "vector", (4096, 1, 0, 0, 0, 0), "blockCount must be in [0, 4095], got 4096"),
    ("copy_in", "vector", (1, 1, 65536, 0, 0, 0), "srcGap must be in [0, 65535], got 65536"),
    ("copy_in", "vector", (1, -1, 0, 0, 0, 0), "blockLen is negative"),
    ("pad_in_b32", "vector", (1, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0), "blockLen must be a multiple of 4, got 6"),
    (
        "pad_in_b32",
        "vector",
        (1, 4, 0, 0, 1, 9, 0, 0, 0, 0, 0),
        "leftPadding in bytes must be in [0, 32], got 36",
    ),
    ("pad_in_b8", "vector", (1, 4, 0, 0, 1, 0, 257, 0, 0, 0, 0), "rightPadding must be in [0, 255], got 257"),
    ("pad_in_b64", "vector", (1, 8, 0, 0, 1, 1, 0, 3, 0, 0, 0), "64-bit elements must be 0"),
    ("nd2nz_b8", "cube", (1, 1, 32, 0, 70000, 1, 1, 0, 0), "srcDValue must be in [0, 65535], got 70000"),
    ("nd2nz_b8", "cube", (1, 1, 32, 0, 0, 1, 1, 0, 0), "srcDValue must be in [1, 65535], got 0"),
    ("nd2nz_b8", "cube", (1, 1, 32, 0, 32, 20000, 1, 0, 0), "dstNzC0Stride must be in [1, 16384], got 20000"),
    (
        "nd2nz_b16",
        "cube",
        (2, 1, 32, 0, 32, 1, 1, 8, 0),
        "dstNzMatrixStride in bytes must be a multiple of 32",
    ),
]


@pytest.mark.parametrize("entry, kind, params, text", FINDINGS)
def test_broken_rules_are_reported_and_the_move_is_dropped(library, entry, kind, params, text):
    image, x = random_bytes(1), random_bytes(2)
    y = np.zeros_like(image)
    arguments = {"image": image, "x": x, "y": simulator.output(y), "params": parameters(*params)}
    result = launch(library, entry, arguments, kind=kind)
    assert result.findings and all(f.check == "memcheck" for f in result.findings), result.findings
    assert any(text in f.text for f in result.findings), result.findings
    assert all(Path(f.file).name == "dma_copy.cpp" for f in result.findings)
    np.testing.assert_array_equal(y, image)


def test_a_misaligned_element_in_gm_is_reported(library):
    image = random_bytes(1)
    y = np.zeros_like(image)
    arguments = {"image": image, "x": random_bytes(2), "y": simulator.output(y)}
    result = launch(library, "copy_half_misplaced", arguments)
    assert "src must start at a multiple of 2 bytes" in result.findings[0].text


@pytest.mark.parametrize(
    "entry, kind, text",
    [
        ("copy_to_l0", "cube", "no way from GM to L0A"),
        ("copy_on_the_wrong_core", "cube", "UB belongs to the AIV, this is an AIC"),
    ],
)
def test_moves_that_do_not_exist_are_reported(library, entry, kind, text):
    result = launch(library, entry, {"x": random_bytes(2)}, kind=kind)
    assert text in result.findings[0].text


ATOMICS = [  # entry, type, operation
    ("add_int8", np.int8, np.add),
    ("add_int16", np.int16, np.add),
    ("add_int32", np.int32, np.add),
    ("add_half", np.float16, np.add),
    ("add_float", np.float32, np.add),
    ("max_float", np.float32, np.maximum),
    ("min_half", np.float16, np.minimum),
]


@pytest.mark.parametrize("seed", (0, 1, 2))
@pytest.mark.parametrize("entry, dtype, operation", ATOMICS)
def test_atomics_of_all_cores_combine(library, entry, dtype, operation, seed):
    # Small integers: every order of the sums gives the same bits in every type.
    rng = np.random.default_rng(8)
    x = rng.integers(-9, 10, (4, 64)).astype(dtype)
    y = rng.integers(-9, 10, 64).astype(dtype)
    expected = operation.reduce([y, *x], dtype=dtype)
    result = launch(library, entry, {"x": x, "y": simulator.inout(y)}, cores=4, seed=seed)
    assert not result.findings, result.findings
    np.testing.assert_array_equal(y, expected)


def test_plain_moves_of_all_cores_race(library):
    x, y = np.ones((4, 64), np.int32), np.zeros(64, np.int32)
    result = launch(library, "overwrite", {"x": x, "y": simulator.inout(y)}, cores=4)
    assert "racecheck" in {f.check for f in result.findings}


def test_sums_on_undefined_memory_stay_undefined(library):
    x, y = np.ones((4, 64), np.int32), np.zeros(64, np.int32)
    result = launch(library, "add_int32", {"x": x, "y": simulator.output(y)})
    assert "initcheck" in {f.check for f in result.findings}


def test_an_atomic_operation_of_another_type_is_reported(library):
    x, y = np.ones(64, np.int32), np.zeros(64, np.int32)
    result = launch(library, "add_of_another_type", {"x": x, "y": simulator.inout(y)})
    assert "another data type" in result.findings[0].text
    assert not y.any()


def test_fill_of_gm(library):
    y = np.arange(1000, dtype=np.int32)
    result = launch(library, "fill_gm", {"y": simulator.inout(y), "params": parameters(777, -3)})
    assert not result.findings, result.findings
    assert (y[:777] == -3).all()
    np.testing.assert_array_equal(y[777:], np.arange(777, 1000))


def test_fill_of_l1(library):
    image = random_bytes(1)
    y = np.zeros_like(image)
    arguments = {"image": image, "y": simulator.output(y), "params": parameters(5, 3, 2, 0x0102)}
    result = launch(library, "fill_l1", arguments, kind="cube")
    assert not result.findings, result.findings
    for repeat in range(5):
        begin = repeat * (3 + 2) * 32
        image[begin : begin + 96].view(np.int16)[:] = 0x0102
    np.testing.assert_array_equal(y, image)
