# SPDX-License-Identifier: Apache-2.0
"""What cores owe each other in global memory is found, and no more than that."""

from __future__ import annotations

import numpy as np
import pytest

from sals import simulator

pytestmark = pytest.mark.sanitize
SEEDS = range(8)
CORES = 2  # pairs of vector cores


@pytest.fixture(scope="module")
def library(kernel_library):
    return kernel_library("detectors_gm")


def checks(result) -> set[str]:
    return {finding.check for finding in result.findings}


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_of_one_word_belong_to_different_cores(library, run_clean, seed):
    y = np.zeros(3 * CORES, np.float16)
    options = {"cores": CORES, "kind": "vector", "seed": seed}
    run_clean(library, "bytes_apart", {"y": simulator.output(y), "halves": 3}, **options)
    np.testing.assert_array_equal(y, 1)
    arguments = {"y": simulator.output(np.zeros(3 * CORES + 1, np.float16)), "halves": 4}
    result = simulator.launch(library, "bytes_apart", arguments, **options)
    assert [f.check for f in result.findings] == ["racecheck"]
    assert "write after write on GM byte 6:" in result.findings[0].text


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sum_is_read_after_all_of_its_parts(library, run_clean, seed):
    def arguments(everybody):
        total = np.zeros(8, np.float32)
        y = simulator.output(np.zeros(8, np.float32))
        return {"sum": simulator.inout(total), "y": y, "everybody": everybody}

    result = run_clean(library, "read_of_a_sum", arguments(1), cores=CORES, seed=seed)
    np.testing.assert_array_equal(result["y"], 2 * CORES)
    result = simulator.launch(library, "read_of_a_sum", arguments(0), cores=CORES, seed=seed)
    assert checks(result) == {"racecheck"}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_is_cleared_before_all_that_add_to_it(library, run_clean, seed):
    def arguments(everybody):
        return {"sum": simulator.output(np.zeros(8, np.float32)), "everybody": everybody}

    result = run_clean(library, "sum_on_a_cleared_row", arguments(1), cores=CORES, seed=seed)
    np.testing.assert_array_equal(result["sum"], 1 + 2 * CORES)
    result = simulator.launch(library, "sum_on_a_cleared_row", arguments(0), cores=CORES, seed=seed)
    assert "racecheck" in checks(result)


@pytest.mark.parametrize("seed", SEEDS)
def test_flags_of_a_ring_take_effect_in_their_order(library, run_clean, seed):
    run_clean(library, "ring", {"none": None, "ahead": 15}, cores=1, seed=seed)
    result = simulator.launch(library, "ring", {"none": None, "ahead": 16}, cores=1, seed=seed)
    assert any("16th time" in f.text and f.core == "AIC 0" for f in result.findings)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_scalar_unit_sets_a_flag_for_another_core(library, run_clean, seed):
    run_clean(library, "set_by_the_scalar_unit", {"none": None}, cores=1, seed=seed)
