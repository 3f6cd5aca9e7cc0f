# SPDX-License-Identifier: Apache-2.0
"""Lane-by-lane vector instructions: which lanes, which strides, which values, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.vec_call import Call, address, findings, image_of, random_image, run_clean, view

F32, F16, I32, I16, U32, U16 = "float32", "float16", "int32", "int16", "uint32", "uint16"
ALL = (1 << 64) - 1


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("vec_elementwise")


def numbers(dtype, seed, count=2048):
    """Values of a type without overflow in sums and products of halves."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, count, dtype=dtype, endpoint=True)
    return (rng.standard_normal(count) * 8).astype(dtype)


def operands(dtype, seed):
    image = random_image(seed)
    for k, begin in enumerate((0, 8192, 16384)):
        image_of(numbers(dtype, seed + k), begin, image)
    return image


def wide(dtype):
    return np.float32 if dtype == F16 else np.dtype(dtype).type


def expected(image, call, function, sources=2, dst_is_source=False):
    """`function` of the lanes' sources in the order dst, src0, src1, lane after lane."""
    y = image.copy()
    size = np.dtype(call.type).itemsize
    begins = (call.dst, call.src0, call.src1)
    first = 0 if dst_is_source else 1
    with np.errstate(all="ignore"):
        for repeat, lane in call.active(256 // size):
            places = [
                address(begins[k], size, call.blocks[k], call.strides[k], repeat, lane)
                for k in range(sources + 1)
            ]
            values = [view(y, p, call.type, 1).astype(wide(call.type)) for p in places[first:]]
            view(y, places[0], call.type, 1)[:] = function(*values).astype(call.type)
    return y


SHAPES = [
    Call(form="count", count=1),
    Call(form="count", count=63),
    Call(form="count", count=64),
    Call(form="count", count=777),
    Call(form="count", count=1024),
    Call(form="lanes", count=64, repeats=4),
    Call(form="lanes", count=17, repeats=3),
    Call(form="lanes", count=200, repeats=2),  # more than a repeat has: all of it
    Call(form="bits", mask=(0xF00F_0000_FFFF_0001, 0x8000_0000_0000_0003), repeats=3),
    Call(form="bits", mask=(0x5555_5555_5555_5555, ALL), repeats=2, blocks=(2, 1, 3), strides=(16, 9, 30)),
    Call(form="lanes", count=50, repeats=3, blocks=(3, 2, 1), strides=(24, 20, 0)),
    Call(form="lanes", count=64, repeats=5, blocks=(1, 0, 1), strides=(8, 1, 8)),  # one block for all
    Call(form="lanes", count=64, repeats=4, strides=(8, 0, 4)),
    Call(form="bits", mask=(130, 0), repeats=1, counter=True, blocks=(2, 1, 1), strides=(16, 8, 8)),
]
BINARY = {
    0: np.add,
    1: np.subtract,
    2: np.multiply,
    3: np.maximum,
    4: np.minimum,
    5: np.divide,
}


def with_(call, **changes):
    return Call(**{**call.__dict__, **changes})


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", (F32, F16, I32, I16))
def test_lanes_and_strides(library, shape, dtype):
    call = with_(shape, type=dtype)
    image = operands(dtype, 7)
    y = run_clean(library, "vec_binary", image, call)
    np.testing.assert_array_equal(y, expected(image, call, np.add))


@pytest.mark.parametrize(
    "op, dtype", [(op, dtype) for op in BINARY for dtype in (F32, F16, I32, I16)[: 2 if op == 5 else 4]]
)
def test_binary_values(library, op, dtype):  # Div (5) has no integers
    call = Call(op=op, type=dtype, count=1000)
    image = operands(dtype, 21 + op)
    y = run_clean(library, "vec_binary", image, call)
    np.testing.assert_array_equal(y, expected(image, call, BINARY[op]))


@pytest.mark.parametrize("op", (3, 4))
@pytest.mark.parametrize("dtype", (F32, F16))
def test_extremes_of_nan_and_infinity(library, op, dtype):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0], dtype)
    left, right = (a.ravel() for a in np.meshgrid(special, special))
    image = image_of(right, 16384, image_of(left, 8192, operands(dtype, 3)))
    y = run_clean(library, "vec_binary", image, Call(op=op, type=dtype, count=36))
    np.testing.assert_array_equal(view(y, 0, dtype, 36), BINARY[op](left, right))


@pytest.mark.parametrize("op, function", [(9, np.bitwise_and), (10, np.bitwise_or)])
def test_bits(library, op, function):
    call = Call(op=op, type=U16, form="lanes", count=100, repeats=3)
    image = operands(U16, op)
    np.testing.assert_array_equal(
        run_clean(library, "vec_binary", image, call), expected(image, call, function)
    )


@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize(
    "op, function",
    [
        (6, lambda d, a, b: a * d + b),
        (7, lambda d, a, b: np.maximum(a * d + b, np.float32(0))),
        (8, lambda d, a, b: a * b + d),
    ],
)
def test_multiply_and_add(library, op, function, dtype):
    call = Call(op=op, type=dtype, form="lanes", count=60, repeats=3, strides=(8, 0, 8))
    image = operands(dtype, op)
    y = run_clean(library, "vec_binary", image, call)
    np.testing.assert_array_equal(y, expected(image, call, function, dst_is_source=True))


def test_a_row_may_be_accumulated(library):
    """dst and src1 with repeat stride 0: the sum of the repeats."""
    call = Call(type=F32, src1=0, form="lanes", count=64, repeats=8, strides=(0, 8, 0))
    image = operands(F32, 5)
    np.testing.assert_array_equal(
        run_clean(library, "vec_binary", image, call), expected(image, call, np.add)
    )


UNARY = {
    0: np.abs,
    1: lambda x: np.exp(x.astype(np.float64)).astype(np.float32),
    2: lambda x: np.log(x.astype(np.float64)).astype(np.float32),
    3: np.sqrt,
    4: lambda x: (1 / np.sqrt(x.astype(np.float64))).astype(np.float32),
    5: lambda x: (np.float32(1) / x).astype(np.float32),
    6: lambda x: np.maximum(x, np.float32(0)),
}


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize(
    "shape",
    [Call(count=500), Call(form="bits", mask=(0xFF0F, 7), repeats=2, blocks=(2, 1, 0), strides=(16, 8, 0))],
    ids=str,
)
def test_unary(library, op, dtype, shape):
    call = with_(shape, op=op, type=dtype)
    image = image_of(
        np.abs(numbers(dtype, op)) if op in (2, 3, 4) else numbers(dtype, op), 8192, random_image(op)
    )
    y = run_clean(library, "vec_unary", image, call)
    np.testing.assert_array_equal(y, expected(image, call, UNARY[op], sources=1))


def test_exponential_of_special_values(library):
    x = np.array([np.inf, -np.inf, np.nan, 0, 88, 89, -104, -88], np.float32)
    image = image_of(x, 8192, random_image(0))
    y = view(run_clean(library, "vec_unary", image, Call(op=1, count=8)), 0, F32, 8)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(y, np.exp(x.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize("op, function", list(enumerate((np.add, np.multiply, np.maximum, np.minimum))))
@pytest.mark.parametrize("dtype", (F32, F16, I32, I16))
def test_scalar_operand(library, op, function, dtype):
    call = Call(op=op, type=dtype, form="lanes", count=33, repeats=3, extra=(3,))
    image = operands(dtype, 31)
    y = run_clean(library, "vec_scalar", image, call)
    value = wide(dtype)(3)
    np.testing.assert_array_equal(y, expected(image, call, lambda x: function(x, value), sources=1))


@pytest.mark.parametrize("dtype", (I32, U32, I16, U16))
@pytest.mark.parametrize("bits", (0, 1, 5, 15))
def test_shifts(library, dtype, bits):
    x = numbers(dtype, bits)
    image = image_of(x, 8192, random_image(1))
    left = view(
        run_clean(library, "vec_shift", image, Call(type=dtype, count=128, extra=(bits,))), 0, dtype, 128
    )
    right = run_clean(library, "vec_shift", image, Call(op=1, type=dtype, count=128, extra=(bits,)))
    np.testing.assert_array_equal(view(right, 0, dtype, 128), x[:128] >> bits)
    width = 8 * np.dtype(dtype).itemsize
    for value, result in zip(x[:128].tolist(), left.tolist(), strict=True):
        if np.dtype(dtype).kind == "u":
            assert result == value << bits & (1 << width) - 1
        else:  # the sign stays, the other bits move
            low = value << bits & (1 << (width - 1)) - 1
            assert result == low - (1 << (width - 1) if value < 0 else 0)


def test_the_documented_shifts(library):
    x = np.array([0b1010101010101010 - (1 << 16)], np.int16)
    image = image_of(x, 8192, random_image(1))
    for bits, digits in ((1, "1101010101010100"), (3, "1101010101010000")):
        y = run_clean(library, "vec_shift", image, Call(type=I16, count=1, extra=(bits,)))
        assert format(view(y, 0, U16, 1)[0], "016b") == digits


def test_rounding_shift(library):
    x = np.arange(-64, 64, dtype=np.int16)
    image = image_of(x, 8192, random_image(1))
    y = run_clean(library, "vec_shift", image, Call(op=2, type=I16, extra=(5,)))
    np.testing.assert_array_equal(view(y, 0, I16, 64), (x[:64] >> 5) + (x[:64] >> 4 & 1))


@pytest.mark.parametrize("op, dst, src", [(0, F32, F32), (1, F16, F16), (2, F32, F16)])
def test_axpy(library, op, dst, src):
    lanes = 256 // np.dtype(dst).itemsize
    half_strides = (8, 4, 0) if op == 2 else (8, 8, 0)
    sums, x = numbers(dst, 1), numbers(src, 2)
    image = image_of(x, 8192, image_of(sums, 0, random_image(1)))
    factor = np.float32(24 / 16)
    want = (x.astype(np.float32) * factor + sums.astype(np.float32)).astype(dst)
    for call in (
        Call(op=op, count=3 * lanes + 5, extra=(24,)),
        Call(op=op, form="lanes", count=lanes, repeats=3, strides=half_strides, extra=(24,)),
    ):
        y = run_clean(library, "vec_axpy", image, call)
        count = call.count if call.form == "count" else 3 * lanes
        np.testing.assert_array_equal(view(y, 0, dst, count), want[:count])
        np.testing.assert_array_equal(view(y, 0, dst, 2048)[count:], sums[count:])


@pytest.mark.parametrize(
    "call",
    [
        Call(form="registers", counter=True, count=150, strides=(8, 8, 8)),
        Call(form="registers", mask=(0xF0F0, 0), repeats=3, strides=(8, 8, 8)),
    ],
    ids=str,
)
def test_masks_from_registers(library, call):
    image = operands(F32, 9)
    y = run_clean(library, "vec_registers", image, call)
    np.testing.assert_array_equal(
        y, expected(image, call, lambda x: (x + np.float32(1)) * np.float32(2), sources=1)
    )


@pytest.mark.parametrize(
    "call",
    [Call(count=0), Call(form="lanes", count=64, repeats=0), Call(form="lanes", count=0, repeats=2)],
    ids=str,
)
def test_nothing_to_do(library, call):
    image = operands(F32, 2)
    np.testing.assert_array_equal(run_clean(library, "vec_binary", image, call), image)


REFUSED = {
    "dst must start at a multiple of 32": Call(dst=4, count=8),
    "src0 must start at a multiple of 32": Call(src0=8192 + 16, count=8),
    "src1 must start at a multiple of 32": Call(src1=16388, count=8),
    "repeatTime must be in [0, 255], got 256": Call(form="lanes", count=64, repeats=256, strides=(0, 0, 0)),
    "dstRepStride must be in [0, 255], got 300": Call(form="lanes", count=64, strides=(300, 8, 8)),
    "src0BlkStride must be in [0, 255], got 256": Call(form="lanes", count=64, blocks=(1, 256, 1)),
    "dstBlkStride is 0": Call(form="lanes", count=64, blocks=(0, 1, 1)),
    "mask mode is counter": Call(form="lanes", count=64, counter=True),
    "the number of elements in counter mode": Call(form="bits", mask=(1 << 40, 0), counter=True),
    "dst and src0 overlap": Call(src0=32, count=128),
    "dst and src1 overlap": Call(src1=0, form="lanes", count=64, repeats=2, strides=(4, 8, 4)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(library, words):
    image = operands(F32, 4)
    texts = findings(library, "vec_binary", image, REFUSED[words])
    assert texts and all(words in text for text in texts), texts


def test_a_finished_repeat_may_be_overwritten(library):
    """dst below src0: what a repeat writes was read by earlier ones."""
    call = Call(dst=8192 - 256, count=512)
    image = operands(F32, 6)
    np.testing.assert_array_equal(
        run_clean(library, "vec_binary", image, call), expected(image, call, np.add)
    )


def test_beyond_the_memory(library):
    image = operands(F32, 4)
    texts = findings(
        library, "vec_binary", image, Call(form="lanes", count=64, repeats=255, strides=(255, 0, 0))
    )
    assert texts and "UB" in texts[0]


def test_inactive_lanes_are_not_read(library):
    """Lanes that a mask leaves out may be undefined; a lane that is in must not be."""
    image = operands(F32, 8)
    beyond = 32768  # the window ends here, UB goes on and is undefined
    inside = Call(src0=beyond - 32, form="lanes", count=8)
    np.testing.assert_array_equal(
        run_clean(library, "vec_binary", image, inside), expected(image, inside, np.add)
    )
    assert findings(library, "vec_binary", image, with_(inside, count=9), check="initcheck")
