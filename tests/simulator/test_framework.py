# SPDX-License-Identifier: Apache-2.0
"""TPipe, queues, element access and tiling structs."""

from __future__ import annotations

import numpy as np
import pytest

from sals import simulator

TILE, TILES = 256, 5


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("framework")


def tiling(factor):
    words = np.zeros(32, np.int32)
    words[0] = TILES
    words[1] = np.float32(factor).view(np.int32)
    return words


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("entry, factor", [("queues", 2.5), ("queues_in_place", 1.0)])
def test_queues(library, run_clean, entry, factor, seed):
    """Flags of a queue order producer and consumer in both directions, and balance."""
    x = np.random.default_rng(seed).standard_normal(TILE * TILES).astype(np.float32)
    y = np.zeros_like(x)
    arguments = {"x": x, "y": simulator.output(y), "tiling": tiling(factor)}
    run_clean(library, entry, arguments, kind="vector", cores=2, seed=seed)
    np.testing.assert_array_equal(y, x * np.float32(factor))


def test_tensors_of_the_allocator_follow_each_other(library, run_clean):
    x = np.random.default_rng(0).standard_normal(TILE).astype(np.float32)
    y = np.zeros(2 * TILE, np.float32)
    run_clean(library, "allocated", {"x": x, "y": simulator.output(y)}, kind="vector", cores=1)
    np.testing.assert_array_equal(y, np.concatenate([2 * x, x]))


def test_a_kernel_that_runs_off_its_stack_is_an_error(library, run_clean):
    for _ in range(2):
        with pytest.raises(RuntimeError, match="more than 512 KiB of stack"):
            simulator.launch(library, "large_frame", {"p": np.zeros(1, np.int32)}, kind="vector", cores=2)
    test_queues(library, run_clean, "queues", 2.5, 1)


MISUSE = [
    ("memcheck", "68 bytes asked for, the buffer has 64"),
    ("memcheck", "bytes left"),
    ("synccheck", "the queue is empty"),
    ("synccheck", "none of the queue's 1 buffers is free"),
    ("synccheck", "the buffer is free already"),
    ("synccheck", "does not lie in a buffer of this queue"),
    ("synccheck", "all 8 event ids"),
    ("synccheck", "flag id 11 is not one of 0..10"),
]


@pytest.mark.parametrize("case", range(len(MISUSE)))
def test_misuse(library, case):
    check, words = MISUSE[case]
    arguments = {"params": np.array([case], np.int32)}
    result = simulator.launch(library, "misuse", arguments, kind="vector", cores=1)
    assert any(f.check == check and words in f.text for f in result.findings), result.findings


def test_elements(library, run_clean):
    x = np.arange(8, dtype=np.float32) + 0.5
    y = np.zeros(32, np.float32)
    run_clean(library, "elements", {"x": x, "y": simulator.output(y)}, kind="vector", cores=1)
    halves = (np.arange(16, dtype=np.float32) / np.float32(3)).astype(np.float16)
    nibbles = np.arange(64) % 16 - 8
    assert y[0] == x[1] + np.float32(halves[3])
    np.testing.assert_array_equal(y[1:8], x[1:])
    np.testing.assert_array_equal(y[8:16].view(np.float16), halves)
    packed = (nibbles[0::2] & 15) | (nibbles[1::2] & 15) << 4
    np.testing.assert_array_equal(y[16:24].view(np.uint8), packed)
    np.testing.assert_array_equal(y[24:32].view(np.int8), nibbles[:32] * 3)
