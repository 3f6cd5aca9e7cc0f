# SPDX-License-Identifier: Apache-2.0
"""Cast: every pair of types of architecture 2201 in every rounding mode it has, and its lanes."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import cast_reference as reference
from simulator.cast_reference import CEIL, FLOOR, NONE, ODD, RINT, ROUND, TRUNC
from simulator.vec_call import Call, findings, image_of, random_image, run_clean, view

FIVE = (RINT, FLOOR, CEIL, ROUND, TRUNC)
SIX = (*FIVE, NONE)
PAIRS = {
    ("float32", "float16"): (*SIX, ODD),
    ("float32", "bfloat16"): FIVE,
    ("float32", "int32"): FIVE,
    ("float32", "int16"): FIVE,
    ("float32", "int64"): FIVE,
    ("float16", "float32"): (NONE,),
    ("bfloat16", "float32"): (NONE,),
    ("float16", "int32"): FIVE,
    ("float16", "int16"): FIVE,
    ("float16", "int8"): SIX,
    ("float16", "uint8"): SIX,
    ("float16", "int4"): SIX,
    ("bfloat16", "int32"): FIVE,
    ("int32", "float32"): SIX,
    ("int32", "int16"): (NONE,),
    ("int32", "int64"): (NONE,),
    ("int64", "int32"): (NONE,),
    ("int64", "float32"): FIVE,
    ("int16", "float32"): (NONE,),
    ("int16", "float16"): SIX,
    ("int8", "float16"): (NONE,),
    ("uint8", "float16"): (NONE,),
    ("int4", "float16"): (NONE,),
}
BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "int64": 64, "int32": 32, "int16": 16, "int8": 8}
BITS |= {"uint8": 8, "int4": 4}
COUNT = 512


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("vec_cast")


def source_values(name, seed):
    """COUNT numbers of a type with ties, extremes and what is not a number."""
    rng = np.random.default_rng(seed)
    if name in reference.INTEGERS:
        low, high = reference.INTEGERS[name]
        edges = [low, low + 1, -1, 0, 1, high - 1, high] if low else [0, 1, high]
        if name in ("int32", "int64"):
            edges += [2**25 + 3, 2**24 + 1, -(2**24) - 3, 32768, -32769, 2**12 + 2]
        if name == "int64":
            edges += [2**31, -(2**31) - 1, 2**53 + 1, 2**24 * 2**30 + 2**30]
        values = rng.integers(low, high, COUNT, dtype=np.int64, endpoint=True)
        values[: len(edges)] = edges
        return values
    ties = np.arange(-64, 64) / 2
    wide = rng.standard_normal(COUNT) * 10.0 ** rng.integers(-8, 9, COUNT)
    wide[:128] = ties
    edges = [np.inf, -np.inf, np.nan, 0.0, -0.0, 65504, 65519, 65520, -70000, 2**22 + 0.5, 127.5, 6e-8]
    wide[128 : 128 + len(edges)] = edges
    with np.errstate(over="ignore"):
        values = wide.astype(np.float16 if name == "float16" else np.float32)
    if name == "bfloat16":
        values = (values.view(np.uint32) & 0xFFFF0000).view(np.float32)
    return values


def stored(name, values):
    """Bytes of numbers of a type."""
    if name == "bfloat16":
        return reference.bfloat16_bits(values).view(np.uint8)
    if name == "int4":
        return reference.int4_pack(values)
    return np.asarray(values).astype(name).view(np.uint8)


@pytest.mark.parametrize("src, dst", PAIRS)
def test_values(library, src, dst):
    values = source_values(src, 5)
    image = image_of(stored(src, values), 8192, random_image(1))
    for mode in PAIRS[src, dst]:
        with np.errstate(over="ignore", invalid="ignore"):
            want = np.array([reference.cast(value, dst, mode) for value in values.tolist()])
            want = stored(dst, want.astype(np.float32) if dst == "bfloat16" else want)
        y = run_clean(library, f"cast_{src}_to_{dst}", image, Call(op=mode, count=COUNT))
        got = y[: want.size]
        if dst in ("float32", "float16"):
            np.testing.assert_array_equal(got.view(dst), want.view(dst), err_msg=f"mode {mode}")
        elif dst == "bfloat16":
            widen = lambda b: (b.view(np.uint16).astype(np.uint32) << 16).view(np.float32)  # noqa: E731
            np.testing.assert_array_equal(widen(got), widen(want), err_msg=f"mode {mode}")
        else:
            np.testing.assert_array_equal(got, want, err_msg=f"mode {mode}")
        np.testing.assert_array_equal(y[want.size :], image[want.size :])


DOCUMENTED = [  # source type, target type, value, mode, result
    ("float32", "float16", 0.5 + 2.0**-12, RINT, 0.5),
    ("float32", "float16", 0.5 + 2.0**-12, CEIL, 0.5 + 2.0**-11),
    ("float32", "float16", 0.5 + 2.0**-12, ROUND, 0.5 + 2.0**-11),
    ("float32", "float16", 0.5 + 2.0**-12, ODD, 0.5 + 2.0**-11),
    ("float32", "int32", 2.0**22 + 0.5, RINT, 2**22),
    ("float32", "int32", 2.0**22 + 0.5, ROUND, 2**22 + 1),
    ("float16", "int32", -1.5, RINT, -2),
    ("float16", "int32", -1.5, CEIL, -1),
    ("float16", "int32", -1.5, TRUNC, -1),
    ("float16", "int8", 127.5, RINT, 127),
    ("int32", "int16", 2**31 - 1, NONE, 2**15 - 1),
    ("int64", "int32", 2**31, NONE, 2**31 - 1),
    ("int32", "float32", 2**25 + 3, RINT, 2**25 + 4),
    ("int32", "float32", 2**25 + 3, FLOOR, 2**25),
    ("int16", "float16", 2**12 + 2, RINT, 2**12),
    ("int16", "float16", 2**12 + 2, ROUND, 2**12 + 4),
]


@pytest.mark.parametrize("src, dst, value, mode, result", DOCUMENTED)
def test_documented_examples(library, src, dst, value, mode, result):
    image = image_of(np.array([value], src), 8192, random_image(1))
    y = run_clean(library, f"cast_{src}_to_{dst}", image, Call(op=mode, count=1))
    assert view(y, 0, dst, 1)[0] == result


@pytest.mark.parametrize("src, dst", [("float32", "float16"), ("float16", "float32"), ("float16", "int4")])
@pytest.mark.parametrize(
    "call",
    [
        Call(form="lanes", count=40, repeats=2),
        Call(form="bits", mask=(0xF0FF_0000_0000_00CC, 0xF), repeats=3),
    ],
    ids=str,
)
def test_lanes_of_the_wider_type(library, src, dst, call):
    """A repeat has as many lanes as fit into 256 bytes of the wider type; strides count own datablocks."""
    lanes = 256 * 8 // max(BITS[src], BITS[dst])
    tight = {name: lanes * BITS[name] // 8 // 32 for name in (src, dst)}
    call = Call(**{**call.__dict__, "op": NONE, "strides": (tight[dst] + 1, tight[src] + 2, 0)})
    values = source_values(src, 9)
    image = image_of(stored(src, values), 8192, random_image(2))
    y = run_clean(library, f"cast_{src}_to_{dst}", image, call)
    expected = np.unpackbits(image, bitorder="little")
    per_source = np.unpackbits(image, bitorder="little")
    with np.errstate(over="ignore"):
        for repeat, lane in call.active(lanes):
            begin = (8192 + repeat * (tight[src] + 2) * 32) * 8 + lane * BITS[src]
            bits = np.packbits(per_source[begin : begin + BITS[src]], bitorder="little")
            value = float(bits.view(src)[0])
            result = stored(dst, np.array([reference.cast(value, dst, RINT)] * 2))
            to = repeat * (tight[dst] + 1) * 256 + lane * BITS[dst]
            expected[to : to + BITS[dst]] = np.unpackbits(result, bitorder="little")[: BITS[dst]]
    np.testing.assert_array_equal(np.unpackbits(y, bitorder="little"), expected)


def test_scaled_int32_to_half(library):
    """int32 * scale, rounded once to half; the kernel sets 0.25."""
    values = np.array([0, 1, -3, 4096, 100_001, -262_000], np.int32)
    image = image_of(values, 8192, random_image(3))
    y = run_clean(library, "cast_int32_to_float16", image, Call(count=6))
    np.testing.assert_array_equal(view(y, 0, np.float16, 6), (values * 0.25).astype(np.float16))


def test_narrowing_in_place(library):
    values = source_values("float32", 1)
    image = image_of(values, 0, random_image(4))
    y = run_clean(library, "cast_float32_to_float16", image, Call(op=NONE, src0=0, count=COUNT))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(view(y, 0, np.float16, COUNT), values.astype(np.float16))


REFUSED = {
    "rounding mode 6": ("float32_to_int32", Call(op=ODD, count=8)),
    "active in pairs": ("float16_to_int4", Call(op=NONE, count=7)),
    "overlap": ("float16_to_float32", Call(op=NONE, src0=0, count=64)),
    "src must start": ("float32_to_float16", Call(op=NONE, src0=8200, count=64)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(library, words):
    entry, call = REFUSED[words]
    texts = findings(library, f"cast_{entry}", random_image(1), call)
    assert texts and all(words in text for text in texts), texts
