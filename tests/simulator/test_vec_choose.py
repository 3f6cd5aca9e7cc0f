# SPDX-License-Identifier: Apache-2.0
"""Compare, Select, GatherMask, Gather and Gatherb: bits, patterns, counts, addresses."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from simulator.vec_call import BLOCK, Call, address, findings, image_of, random_image, run, run_clean, view

F32, F16, I32 = "float32", "float16", "int32"
MODES = [operator.lt, operator.gt, operator.eq, operator.le, operator.ge, operator.ne]
BITS_AT = 24576  # selMask, patterns and results of the scalar unit
ALL = (1 << 64) - 1


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("vec_choose")


def with_(call, **changes):
    return Call(**{**call.__dict__, **changes})


def numbers(dtype, seed, count=1024):
    """Few different values, so that there are equal ones, and what is not a number."""
    values = np.random.default_rng(seed).integers(-3, 4, count).astype(dtype)
    if np.dtype(dtype).kind == "f":
        values[:6] = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0]
    return values


def operands(dtype, seed):
    left, right = numbers(dtype, seed), numbers(dtype, seed + 1)
    right[:3] = left[:3]
    return image_of(right, 16384, image_of(left, 8192, random_image(seed)))


@pytest.mark.parametrize("mode", range(6))
@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize("scalar", (False, True))
def test_compare(library, mode, dtype, scalar):
    count = 512
    image = operands(dtype, mode)
    call = Call(op=mode, type=dtype, count=count, extra=(int(scalar), 1))
    right = np.ones(count, dtype) if scalar else view(image, 16384, dtype, count)
    bits = MODES[mode](view(image, 8192, dtype, count), right)
    y = run_clean(library, "vec_compare", image, call)
    np.testing.assert_array_equal(y[: count // 8], np.packbits(bits, bitorder="little"))
    np.testing.assert_array_equal(y[count // 8 :], image[count // 8 :])


@pytest.mark.parametrize("scalar", (False, True))
def test_compare_with_strides_ignores_the_mask(library, scalar):
    call = Call(type=F32, form="bits", mask=(1, 0), repeats=3, blocks=(1, 2, 1), strides=(8, 17, 0))
    call = with_(call, extra=(int(scalar), 1))
    image = operands(F32, 3)
    bits = []
    for repeat in range(3):
        for lane in range(64):
            left = view(image, address(8192, 4, 2, 17, repeat, lane), F32, 1)[0]
            right = view(image, address(16384, 4, 1, 0, repeat, lane), F32, 1)[0]
            bits.append(left < (1 if scalar else right))
    y = run_clean(library, "vec_compare", image, call)
    np.testing.assert_array_equal(y[:24], np.packbits(bits, bitorder="little"))


def test_compare_of_255_repeats(library):
    values = np.random.default_rng(1).integers(-3, 4, 64 * 60).astype(np.float32)
    image = image_of(values, 8192, random_image(1))
    call = Call(op=2, form="lanes", count=64, repeats=255, strides=(8, 0, 0), src1=8192, extra=(0, 0))
    y = run_clean(library, "vec_compare", image, call)
    np.testing.assert_array_equal(y[: 255 * 8], np.full(255 * 8, 255, np.uint8))


def test_int32_only_for_equality(library):
    image = operands(I32, 1)
    y = run_clean(library, "vec_compare", image, Call(op=2, type=I32, count=128))
    equal = view(image, 8192, I32, 128) == view(image, 16384, I32, 128)
    np.testing.assert_array_equal(y[:16], np.packbits(equal, bitorder="little"))
    assert "CMPMODE::EQ" in findings(library, "vec_compare", image, Call(op=0, type=I32, count=128))[0]


SELECT = [
    Call(count=300),
    Call(form="lanes", count=64, repeats=4),
    Call(form="bits", mask=(0xFF00_FF00_0F0F_0001, 0x3), repeats=3, blocks=(2, 1, 1), strides=(16, 8, 0)),
]


@pytest.mark.parametrize("mode", (0, 1, 2))
@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize("shape", SELECT, ids=str)
def test_select(library, mode, dtype, shape):
    size = np.dtype(dtype).itemsize
    lanes = 256 // size
    image = operands(dtype, 5)
    call = with_(shape, op=mode, type=dtype, extra=(BITS_AT, 7))
    bits = np.unpackbits(image[BITS_AT : BITS_AT + 512], bitorder="little")
    expected = image.copy()
    for repeat, lane in call.active(lanes):
        to, *places = (
            address(b, size, call.blocks[k], call.strides[k], repeat, lane)
            for k, b in enumerate((0, 8192, 16384))
        )
        bit = bits[lane if mode == 0 else repeat * lanes + lane]
        other = np.array([7], dtype) if mode == 1 else view(image, places[1], dtype, 1)
        view(expected, to, dtype, 1)[:] = view(image, places[0], dtype, 1) if bit else other
    np.testing.assert_array_equal(run_clean(library, "vec_select", image, call), expected)


def gathered(image, call, lanes, dtype, pattern):
    """The elements that GatherMask keeps, by walking lanes."""
    size = np.dtype(dtype).itemsize
    return [
        view(image, address(call.src0, size, call.blocks[1], call.strides[1], repeat, lane), dtype, 1)[0]
        for repeat in range(call.repeats)
        for lane in range(lanes)
        if pattern(repeat, lane)
    ]


FIXED = {1: (0, 2), 2: (1, 3), 3: (0,), 4: (1,), 5: (2,), 6: (3,), 7: (0, 1, 2, 3)}
GATHER = [
    Call(repeats=1),
    Call(repeats=3, strides=(0, 8, 1)),
    Call(repeats=2, blocks=(0, 2, 0), strides=(0, 16, 0)),
    Call(repeats=1, counter=True, count=777, strides=(0, 0, 0)),
    Call(repeats=2, counter=True, count=70, strides=(0, 4, 0)),
    Call(repeats=3, counter=True, count=70, strides=(0, 30, 2)),
]


@pytest.mark.parametrize("op", range(8))
@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize("shape", GATHER, ids=str)
def test_gather_mask(library, op, dtype, shape):
    image = random_image(op)
    size = np.dtype(dtype).itemsize
    call = with_(shape, op=op, type=dtype, extra=(BITS_AT,))
    lanes = call.count if call.counter else 256 // size
    bits = np.unpackbits(image[16384:24576], bitorder="little")

    def pattern(repeat, lane):
        if op:
            return lane % 4 in FIXED[op]
        return bits[repeat * call.strides[2] * BLOCK * 8 + lane]

    kept = np.array(gathered(image, call, lanes, dtype, pattern), dtype)
    # Lanes after the last one are undefined to the end of their datablock: y gets them, which is a finding.
    y, result = run(library, "vec_gather_mask", image, call)
    assert {finding.check for finding in result.findings} <= {"initcheck"}
    assert bool(result.findings) == (kept.nbytes % BLOCK != 0)
    np.testing.assert_array_equal(y[: kept.nbytes], kept.view(np.uint8))
    assert view(y, BITS_AT, I32, 2).tolist() == [kept.size, kept.size]
    end = -(-kept.nbytes // BLOCK) * BLOCK
    np.testing.assert_array_equal(y[end:8192], image[end:8192])


def test_gather_mask_in_place(library):
    x = np.arange(1, 257, dtype=np.float32)
    image = image_of(x, 8192, random_image(1))
    call = Call(op=2, dst=8192, repeats=4, strides=(0, 8, 0), extra=(BITS_AT,))
    y = run_clean(library, "vec_gather_mask", image, call)
    np.testing.assert_array_equal(view(y, 8192, F32, 128), x[1::2])


def test_gather_mask_of_nothing(library):
    image = random_image(2)
    image[16384:16416] = 0
    y = run_clean(
        library, "vec_gather_mask", image, Call(repeats=1, counter=True, count=64, extra=(BITS_AT,))
    )
    np.testing.assert_array_equal(y[:8192], image[:8192])
    assert view(y, BITS_AT, I32, 2).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize(
    "shape",
    [
        Call(count=200),
        Call(form="lanes", count=64, repeats=2, strides=(9, 0, 0)),
        Call(form="bits", mask=(0xF0F0, 0), repeats=2),
    ],
    ids=str,
)
def test_gather(library, dtype, shape):
    size = np.dtype(dtype).itemsize
    lanes = 256 // size
    offsets = np.random.default_rng(3).integers(0, 900, 1024, dtype=np.uint32) * size
    image = image_of(offsets, 16384, random_image(3))
    call = with_(shape, type=dtype, extra=(2 * size, 1024))
    expected = image.copy()
    for repeat, lane in call.active(lanes):
        to = address(0, size, 1, call.strides[0], repeat, lane)
        place = 8192 + 2 * size + int(offsets[repeat * lanes + lane])
        expected[to : to + size] = image[place : place + size]
    np.testing.assert_array_equal(run_clean(library, "vec_gather", image, call), expected)


def test_gather_blocks(library):
    offsets = np.random.default_rng(4).integers(0, 128, 24, dtype=np.uint32) * BLOCK
    image = image_of(offsets, 16384, random_image(4))
    expected = image.copy()
    for repeat in range(3):
        for block in range(8):
            to, place = (repeat * 17 + block * 2) * BLOCK, 8192 + int(offsets[repeat * 8 + block])
            expected[to : to + BLOCK] = image[place : place + BLOCK]
    call = Call(repeats=3, blocks=(2, 1, 1), strides=(17, 0, 0), extra=(0, 1024))
    np.testing.assert_array_equal(run_clean(library, "vec_gather_blocks", image, call), expected)


REFUSED = [
    ("vec_compare", Call(count=100), "count must be a multiple of 64"),
    ("vec_compare", Call(count=64, dst=8), "dst must start at a multiple of 32"),
    ("vec_compare", Call(form="lanes", count=64, counter=True), "counter mode"),
    ("vec_compare", Call(count=64, dst=8192 + 64), "overlap"),
    ("vec_select", Call(op=2, count=64, extra=(BITS_AT + 8, 0)), "selMask must start at a multiple of 32"),
    ("vec_gather_mask", Call(op=9, repeats=1, extra=(BITS_AT,)), "src1Pattern must be in [1, 7], got 9"),
    ("vec_gather_mask", Call(counter=True, count=0, extra=(BITS_AT,)), "mask in counter mode must be in [1"),
    ("vec_gather_mask", Call(src1=16388, extra=(BITS_AT,)), "src1Pattern must start at a multiple of 32"),
    ("vec_gather_mask", Call(dst=8192 + 32, op=7, extra=(BITS_AT,)), "overlap"),
    (
        "vec_gather_mask",
        Call(repeats=65536, op=7, extra=(BITS_AT,)),
        "repeatTimes must be in [0, 65535], got 65536",
    ),
    ("vec_gather", Call(count=8, dst=8192, extra=(0, 64)), "overlap"),
]


@pytest.mark.parametrize("entry, call, words", REFUSED)
def test_refused(library, entry, call, words):
    texts = findings(library, entry, random_image(1), call)
    assert texts and all(words in text for text in texts), texts


@pytest.mark.parametrize("offset", (256, 2))
def test_an_address_outside_of_the_source(library, offset):
    """src has 64 floats; addresses are multiples of 4."""
    image = image_of(np.array([0, 4, offset], np.uint32), 16384, random_image(1))
    _, result = run(library, "vec_gather", image, Call(count=3, extra=(0, 64)))
    texts = [finding.text for finding in result.findings if finding.check == "memcheck"]
    assert len(texts) == 1 and f"offset {offset} " in texts[0]
