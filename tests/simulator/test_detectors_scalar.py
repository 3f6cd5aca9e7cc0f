# SPDX-License-Identifier: Apache-2.0
"""The scalar unit's own loads and stores: a cache that is not coherent, and a buffer that others read."""

from __future__ import annotations

import numpy as np
import pytest

from sals import simulator
from sals.simulator.arguments import GmArgument

pytestmark = pytest.mark.sanitize
SEEDS = range(4)
TWO = {"cores": 2, "kind": "vector"}
ONE = {"cores": 1, "kind": "vector"}


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("detectors_scalar")


def words() -> GmArgument:
    return simulator.inout(np.zeros(16, np.int32))


def texts(result, check: str) -> list[str]:
    assert {finding.check for finding in result.findings} <= {check}
    return [finding.text for finding in result.findings]


def test_a_core_reads_back_what_it_has_set(library, run_clean):
    y = np.zeros(16, np.int32)
    run_clean(library, "read_back", {"y": simulator.output(y)}, **ONE)
    assert y[1:3].tolist() == [5, 6]


def test_an_element_lies_on_two_lines_of_the_cache(library, run_clean):
    y = np.zeros(16, np.int64)
    run_clean(library, "struct_over_two_lines", {"y": simulator.inout(y)}, **ONE)
    assert y.tolist() == [0] * 7 + [3, 4] + [0] * 7


@pytest.mark.parametrize("byte", (0, 1, 38, 60))
def test_elements_are_aligned(library, byte):
    result = simulator.launch(library, "unaligned_element", {"y": words(), "byte": byte}, **ONE)
    assert len(texts(result, "memcheck")) == (byte % 4 != 0)
    assert all("SetValue of 4 bytes" in text for text in texts(result, "memcheck"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_word_is_cleaned_before_another_core_loads_it(library, run_clean, seed):
    y = np.zeros(16, np.int32)
    arguments = {"words": words(), "y": simulator.inout(y), "cleans": 1}
    run_clean(library, "set_for_another", arguments, seed=seed, **TWO)
    assert y[0] == 7
    arguments = {"words": words(), "y": words(), "cleans": 0}
    result = simulator.launch(library, "set_for_another", arguments, seed=seed, **TWO)
    (text,) = texts(result, "racecheck")
    assert "byte 0 of words is still in the data cache when DataCopy of AIV 1 reads there" in text


@pytest.mark.parametrize("seed", SEEDS)
def test_an_outdated_line_is_found_whatever_it_holds(library, run_clean, seed):
    run_clean(library, "same_value_again", {"words": words(), "cleans": 1}, seed=seed, **TWO)
    result = simulator.launch(library, "same_value_again", {"words": words(), "cleans": 0}, seed=seed, **TWO)
    (text,) = texts(result, "racecheck")
    assert "cached line that has been written since" in text


@pytest.mark.parametrize("seed", SEEDS)
def test_stores_of_the_scalar_unit_need_a_flag(library, run_clean, seed):
    for flag in (1, 2):
        y = np.zeros(8, np.int32)
        arguments = {"y": simulator.output(y), "flag": flag}
        run_clean(library, "fill_and_store", arguments, seed=seed, **ONE)
        np.testing.assert_array_equal(y, np.arange(8))
    arguments = {"y": simulator.output(np.zeros(8, np.int32)), "flag": 0}
    result = simulator.launch(library, "fill_and_store", arguments, seed=seed, **ONE)
    (text,) = texts(result, "racecheck")
    assert "SetFlag/WaitFlag<HardEvent::S_MTE3>" in text
    run_clean(library, "fill_and_store", arguments, seed=seed, auto_sync=True, **ONE)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_stored_is_known_through_others(library, run_clean, seed):
    y = np.zeros((2, 8), np.int32)
    run_clean(library, "fill_and_pass_on", {"y": simulator.output(y)}, cores=1, seed=seed)
    np.testing.assert_array_equal(y, [np.arange(8)] * 2)


@pytest.mark.parametrize("seed", (0, 1))
def test_polling_the_cache_ends(library, seed):
    result = simulator.launch(library, "poll_without_end", {"words": words()}, seed=seed, **ONE)
    polls, deadlock = texts(result, "synccheck")
    assert "a million times in a row" in polls and "a value that GetValue polls" in deadlock
