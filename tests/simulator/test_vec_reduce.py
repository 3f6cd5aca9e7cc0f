# SPDX-License-Identifier: Apache-2.0
"""Reductions, sorting, fills and moves within UB."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.vec_call import BLOCK, Call, address, findings, image_of, random_image, run_clean, view

F32, F16, I32, U16, U32 = "float32", "float16", "int32", "uint16", "uint32"
ALL = (1 << 64) - 1


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("vec_reduce")


def with_(call, **changes):
    return Call(**{**call.__dict__, **changes})


def numbers(dtype, seed, count=2048):
    rng = np.random.default_rng(seed)
    return (rng.integers(-40, 40, count) + rng.standard_normal(count) / 8).astype(dtype)


def tree(values, dtype):
    """Neighbours are added, then their sums, each rounded to the type; None: lane not active."""
    while len(values) > 1:
        pairs = zip(values[0::2], values[1::2], strict=True)
        values = [b if a is None else a if b is None else np.dtype(dtype).type(np.float32(a) + np.float32(b))
                  for a, b in pairs]  # fmt: skip
    return values[0]


def lanes_of_repeats(image, call, dtype):
    """Per repeat, the value of every lane or None."""
    size = np.dtype(dtype).itemsize
    lanes = 256 // size
    rows = [[None] * lanes for _ in range(call.repeats)]
    for repeat, lane in call.active(lanes):
        place = address(call.src0, size, call.blocks[1], call.strides[1], repeat, lane)
        rows[repeat][lane] = view(image, place, dtype, 1)[0]
    return rows


def extreme(values, best):
    """The extreme and the first lane that has it."""
    active = [(lane, value) for lane, value in enumerate(values) if value is not None]
    if not active:
        return None, None
    value = best(value for _, value in active)
    return value, next(lane for lane, other in active if other == value)


SHAPES = [
    Call(form="lanes", count=128, repeats=3, strides=(1, 8, 0)),
    Call(form="lanes", count=37, repeats=2, strides=(1, 8, 0)),
    Call(form="bits", mask=(0xFF00_00FF_F0F0_0001, 0xFFFF), repeats=3, blocks=(1, 2, 1), strides=(2, 17, 0)),
    Call(form="lanes", count=128, repeats=4, blocks=(1, 0, 1), strides=(1, 1, 0)),
]


@pytest.mark.parametrize("op", range(4))
@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_groups_of_lanes(library, op, dtype, shape):
    """Per datablock (ops 0 to 2) and per pair; without an active lane the place keeps its value."""
    image = image_of(numbers(dtype, op), 8192, random_image(op))
    call = with_(shape, op=op, type=dtype)
    expected = image.copy()
    size = np.dtype(dtype).itemsize
    group = 2 if op == 3 else BLOCK // size
    per_repeat = 256 // size // group
    for repeat, row in enumerate(lanes_of_repeats(image, call, dtype)):
        for k in range(per_repeat):
            values = row[k * group : (k + 1) * group]
            result = tree(values, dtype) if op in (0, 3) else extreme(values, max if op == 1 else min)[0]
            if result is not None:
                to = (repeat * call.strides[0] * per_repeat + k) * size
                view(expected, to, dtype, 1)[:] = result
    np.testing.assert_array_equal(run_clean(library, "vec_reduce", image, call), expected)


@pytest.mark.parametrize("op", (4, 5, 6))
@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_whole_repeats(library, op, order, dtype, shape):
    values = np.round(numbers(dtype, op)).astype(dtype)  # equal extremes: the lowest lane counts
    image = image_of(values, 8192, random_image(op))
    call = with_(shape, op=op, type=dtype, extra=(order,))
    index_type = np.dtype(U16 if dtype == F16 else U32)
    expected = image.copy()
    for repeat, row in enumerate(lanes_of_repeats(image, call, dtype)):
        if op == 4:
            parts = [np.array(tree(row, dtype))]
        else:
            value, lane = extreme(row, max if op == 5 else min)
            value, index = np.array(value, dtype), np.array(lane, index_type)
            parts = [[value, index], [index, value], [value], [np.array(lane, U32)]][order]
        data = b"".join(part.tobytes() for part in parts)
        to = repeat * call.strides[0] * len(data)
        expected[to : to + len(data)] = np.frombuffer(data, np.uint8)
    np.testing.assert_array_equal(run_clean(library, "vec_reduce", image, call), expected)


def test_nothing_active_writes_nothing(library):
    image = random_image(1)
    call = Call(op=1, form="lanes", count=0, repeats=2, strides=(1, 8, 0))
    np.testing.assert_array_equal(run_clean(library, "vec_reduce", image, call), image)


@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize("count", (1, 60, 64, 128, 1000))
def test_sum_of_all(library, dtype, count):
    """A tree in every repeat, the repeats one after the other."""
    x = (numbers(dtype, count) / 8).astype(dtype)
    lanes = 256 // np.dtype(dtype).itemsize
    total = None
    for begin in range(0, count, lanes):
        row = list(x[begin : min(begin + lanes, count)])
        part = tree(row + [None] * (lanes - len(row)), dtype)
        total = part if total is None else np.dtype(dtype).type(np.float32(total) + np.float32(part))
    image = image_of(x, 8192, random_image(1))
    y = run_clean(library, "vec_reduce_all", image, Call(type=dtype, count=count))
    assert view(y, 0, dtype, 1)[0] == total


@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize("count", (1, 64, 200, 1500))
def test_extreme_of_all(library, dtype, count):
    x = np.round(numbers(dtype, count)).astype(dtype)
    index_type = U16 if dtype == F16 else U32
    image = image_of(x, 8192, random_image(1))
    for op, find in ((1, np.argmax), (2, np.argmin)):
        y = run_clean(library, "vec_reduce_all", image, Call(op=op, type=dtype, count=count))
        assert view(y, 0, dtype, 1)[0] == x[find(x[:count])]
        assert view(y, 0, index_type, 2)[1] == find(x[:count])
    y = run_clean(library, "vec_reduce_all", image, Call(op=3, type=dtype, count=count))
    assert view(y, 0, dtype, 1)[0] == x[:count].max()
    np.testing.assert_array_equal(y[np.dtype(dtype).itemsize : 8192], image[np.dtype(dtype).itemsize : 8192])


def records(scores, indices):
    """Eight bytes each: the score first, the index in the upper four."""
    rows = np.zeros((len(scores), 8), np.uint8)
    rows[:, : scores.itemsize] = (
        np.ascontiguousarray(scores).view(np.uint8).reshape(len(scores), scores.itemsize)
    )
    rows[:, 4:] = np.ascontiguousarray(indices.astype(np.uint32)).view(np.uint8).reshape(len(scores), 4)
    return rows


def descending(scores):
    """Positions in descending order; equal scores keep theirs."""
    return np.argsort(-scores.astype(np.float64), kind="stable")


@pytest.mark.parametrize("dtype", (F32, F16))
def test_sort(library, dtype):
    repeats = 5
    scores = np.random.default_rng(2).integers(-9, 9, 32 * repeats).astype(dtype)
    scores[3:6] = [np.inf, -np.inf, -0.0]
    scores[32:64] = 1  # all equal
    indices = np.random.default_rng(3).integers(0, 2**32, 32 * repeats, dtype=np.uint32)
    image = image_of(indices, 16384, image_of(scores, 8192, random_image(1)))
    expected = [
        records(scores[k : k + 32][order], indices[k : k + 32][order])
        for k in range(0, 32 * repeats, 32)
        for order in [descending(scores[k : k + 32])]
    ]
    y = run_clean(library, "vec_sort", image, Call(type=dtype, repeats=repeats))
    np.testing.assert_array_equal(y[: 256 * repeats], np.concatenate(expected).ravel())


def sorted_list(dtype, length, seed):
    scores = np.random.default_rng(seed).integers(-20, 20, length).astype(dtype)
    scores = scores[descending(scores)]
    return scores, np.arange(length) + 1000 * seed


@pytest.mark.parametrize("dtype", (F32, F16))
@pytest.mark.parametrize("lengths, valid", [((5, 9), 3), ((0, 7, 30), 7), ((40, 1, 17, 300), 15)])
def test_merge(library, dtype, lengths, valid):
    """Of equal scores the earlier list's come first."""
    lists = [sorted_list(dtype, length, k + 1) for k, length in enumerate(lengths)]
    places = [8192 + 4096 * k for k in range(4)]
    image = random_image(1)
    for (scores, indices), place in zip(lists, places, strict=False):
        image_of(records(scores, indices), place, image)
    scores, indices = (np.concatenate([part[k] for part in lists]) for k in range(2))
    order = descending(scores)
    padded = (*lengths, 0, 0)[:4]
    call = Call(type=dtype, src1=28672, extra=(*places, *padded, valid, 0))
    y = run_clean(library, "vec_merge", image, call)
    np.testing.assert_array_equal(y[: 8 * len(order)], records(scores[order], indices[order]).ravel())
    np.testing.assert_array_equal(y[8 * len(order) : 8192], image[8 * len(order) : 8192])
    assert view(y, 28672, I32, 4).tolist() == list(padded)


def test_merge_stops_with_the_first_list(library):
    lists = [sorted_list(F32, length, k + 1) for k, length in enumerate((10, 30))]
    image = random_image(1)
    for k, (scores, indices) in enumerate(lists):
        image_of(records(scores, indices), 8192 + 4096 * k, image)
    taken, merged = [0, 0], []
    while taken[0] < 10 and taken[1] < 30:
        second = int(lists[1][0][taken[1]] > lists[0][0][taken[0]])
        merged.append(records(*(part[taken[second] : taken[second] + 1] for part in lists[second])))
        taken[second] += 1
    call = Call(src1=28672, extra=(8192, 12288, 0, 0, 10, 30, 0, 0, 3, 1))
    y = run_clean(library, "vec_merge", image, call)
    data = np.concatenate(merged).ravel()
    np.testing.assert_array_equal(y[: data.size], data)
    np.testing.assert_array_equal(y[data.size : 8192], image[data.size : 8192])
    assert view(y, 28672, I32, 4).tolist() == [*taken, 0, 0]


def test_merge_repeats(library):
    """Four lists of 32 side by side, three times."""
    image, expected = random_image(1), []
    for repeat in range(3):
        lists = [sorted_list(F32, 32, 4 * repeat + k + 1) for k in range(4)]
        for k, (scores, indices) in enumerate(lists):
            image_of(records(scores, indices), 8192 + (4 * repeat + k) * 256, image)
        scores, indices = (np.concatenate([part[k] for part in lists]) for k in range(2))
        order = descending(scores)
        expected.append(records(scores[order], indices[order]))
    places = [8192 + 256 * k for k in range(4)]
    call = Call(src1=28672, repeats=3, extra=(*places, 32, 32, 32, 32, 15, 0))
    y = run_clean(library, "vec_merge", image, call)
    np.testing.assert_array_equal(y[: 3 * 1024], np.concatenate(expected).ravel())


def test_extract(library):
    scores, indices = sorted_list(F32, 64, 3)
    image = image_of(records(scores, indices), 8192, random_image(1))
    y = run_clean(library, "vec_extract", image, Call(repeats=2))
    np.testing.assert_array_equal(view(y, 0, F32, 64), scores)
    np.testing.assert_array_equal(view(y, 16384, U32, 64), indices)


@pytest.mark.parametrize("dtype", (I32, F16))
@pytest.mark.parametrize(
    "shape",
    [
        Call(count=301),
        Call(form="lanes", count=50, repeats=3, strides=(9, 0, 0)),
        Call(form="bits", mask=(0xF0F0_0000_0000_FFFE, 0x1), repeats=2, blocks=(3, 1, 1), strides=(25, 0, 0)),
    ],
    ids=str,
)
def test_duplicate(library, dtype, shape):
    image = random_image(1)
    call = with_(shape, type=dtype, extra=(-7,))
    size = np.dtype(dtype).itemsize
    expected = image.copy()
    for repeat, lane in call.active(256 // size):
        view(expected, address(0, size, call.blocks[0], call.strides[0], repeat, lane), dtype, 1)[:] = -7
    np.testing.assert_array_equal(run_clean(library, "vec_duplicate", image, call), expected)


@pytest.mark.parametrize("dtype", (I32, U16))
@pytest.mark.parametrize(
    "shape",
    [
        Call(form="lanes", count=50, repeats=3, blocks=(1, 2, 1), strides=(8, 20, 0)),
        Call(form="bits", mask=(0xF0F0_0000_0000_FFFE, 0x1), repeats=2, blocks=(3, 1, 1), strides=(25, 0, 0)),
    ],
    ids=str,
)
def test_copy(library, dtype, shape):
    image = random_image(2)
    call = with_(shape, type=dtype)
    size = np.dtype(dtype).itemsize
    expected = image.copy()
    for repeat, lane in call.active(256 // size):
        to = address(0, size, call.blocks[0], call.strides[0], repeat, lane)
        place = address(8192, size, call.blocks[1], call.strides[1], repeat, lane)
        expected[to : to + size] = image[place : place + size]
    np.testing.assert_array_equal(run_clean(library, "vec_copy", image, call), expected)


def test_copy_in_counter_mode(library):
    """Here the mask counts the elements of each repeat."""
    image = random_image(3)
    call = Call(type=I32, form="bits", mask=(100, 0), repeats=2, counter=True, strides=(20, 15, 0))
    expected = image.copy()
    for repeat in range(2):
        data = image[8192 + repeat * 15 * BLOCK :][:400]
        expected[repeat * 20 * BLOCK : repeat * 20 * BLOCK + 400] = data
    np.testing.assert_array_equal(run_clean(library, "vec_copy", image, call), expected)


@pytest.mark.parametrize("dtype", (I32, U16))
@pytest.mark.parametrize("block, stride", [(1, 8), (2, 17)])
def test_brcb(library, dtype, block, stride):
    image = random_image(4)
    expected = image.copy()
    source = view(image, 8192, dtype, 24)
    for repeat in range(3):
        for k in range(8):
            to = (repeat * stride + k * block) * BLOCK
            view(expected, to, dtype, BLOCK // source.itemsize)[:] = source[repeat * 8 + k]
    call = Call(type=dtype, repeats=3, blocks=(block, 1, 1), strides=(stride, 0, 0))
    np.testing.assert_array_equal(run_clean(library, "vec_brcb", image, call), expected)


@pytest.mark.parametrize("count", (3, 8, 9, 64, 65, 1000))
@pytest.mark.parametrize("dtype", (I32, F32))
def test_ramps(library, count, dtype):
    image = random_image(5)
    y = run_clean(library, "vec_ramp", image, Call(type=dtype, count=count, extra=(-5,)))
    np.testing.assert_array_equal(view(y, 0, dtype, count), np.arange(count) - 5)
    np.testing.assert_array_equal(y[4 * count : 8192], image[4 * count : 8192])
    y = run_clean(library, "vec_ramp", image, Call(op=1, type=dtype, count=count, extra=(2, 3)))
    np.testing.assert_array_equal(view(y, 0, dtype, count), 3 * np.arange(count) + 2)


def test_transpose(library):
    image = random_image(6)
    y = run_clean(library, "vec_transpose", image, Call())
    matrix = view(image, 8192, U16, 256).reshape(16, 16)
    np.testing.assert_array_equal(view(y, 0, U16, 256).reshape(16, 16), matrix.T)


def test_transpose_of_rows(library):
    """16 rows at addresses of their own, twice."""
    image = random_image(7)
    y = run_clean(library, "vec_transpose_rows", image, Call(repeats=2, strides=(1, 2, 0)))
    for repeat in range(2):
        rows = [view(image, 8192 + row * 128 + repeat * 64, U16, 16) for row in range(16)]
        columns = [view(y, row * 64 + repeat * 32, U16, 16) for row in range(16)]
        np.testing.assert_array_equal(columns, np.transpose(rows))


REFUSED = [
    ("vec_reduce", Call(op=1, dst=8192, form="lanes", count=64, strides=(1, 8, 0)), "dst overlaps"),
    ("vec_reduce", Call(op=1, dst=8, form="lanes", count=64, strides=(1, 8, 0)), "multiple of 32 bytes"),
    ("vec_reduce", Call(op=5, dst=4, form="lanes", count=64, strides=(1, 8, 0)), "multiple of 8 bytes"),
    ("vec_reduce", Call(op=5, form="lanes", count=64, repeats=300, strides=(1, 8, 0)), "repeatTime"),
    ("vec_sort", Call(dst=32), "dst must start at a multiple of 256"),
    ("vec_sort", Call(src0=8192 + 64), "src0 must start at a multiple of 128"),
    ("vec_merge", Call(extra=(8192, 8200, 0, 0, 1, 1, 0, 0, 5, 0)), "validBit must be 3, 7 or 15"),
    ("vec_merge", Call(extra=(8192, 8200, 0, 0, 4096, 1, 0, 0, 3, 0)), "elementLengths must be in [0, 4095]"),
    ("vec_merge", Call(extra=(8196, 8224, 0, 0, 1, 1, 0, 0, 3, 0)), "multiple of 8 bytes"),
    ("vec_merge", Call(repeats=2, extra=(8192, 8224, 0, 0, 1, 1, 0, 0, 3, 0)), "repeatTimes above 1"),
    ("vec_merge", Call(dst=8192, extra=(8192, 8224, 0, 0, 4, 4, 0, 0, 3, 0)), "overlap"),
    (
        "vec_copy",
        Call(type=I32, form="lanes", count=64, strides=(5000, 8, 0)),
        "dstRepeatSize must be in [0, 4095]",
    ),
    ("vec_brcb", Call(type=I32, src0=8192 + 8), "src must start at a multiple of 32"),
    ("vec_brcb", Call(type=I32, src0=0), "overlap"),
]


@pytest.mark.parametrize("entry, call, words", REFUSED)
def test_refused(library, entry, call, words):
    texts = findings(library, entry, random_image(1), call)
    assert texts and all(words in text for text in texts), texts
