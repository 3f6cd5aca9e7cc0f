# SPDX-License-Identifier: Apache-2.0
"""Cases for the attention's NPU kernel, run on the simulator and compared with the float64 reference."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import builders
import operators
from cases import CORNER, CORRECTNESS, Case
from sals.reference import qsi, sfaa_exact
from sals.simulator import Result, run_sfaa
from tolerance import assert_lse_close, assert_output_close

DEVICE_HEAD_DIMS = (64, 128, 256)


def attention_part(case: Case) -> Case:
    """The case without what only the selection sees; lists follow from it all the same."""
    return case.but(name="", rank=64, ties=False, order="index")


def distinct(cases: tuple[Case, ...]) -> list[Case]:
    """Cases that the kernel takes, each once as far as attention can tell."""
    found: dict[Case, Case] = {}
    for case in cases:
        if case.head_dim in DEVICE_HEAD_DIMS and case.dtype != "float32":
            found.setdefault(attention_part(case), case)
    return list(found.values())


CASES = distinct(CORRECTNESS + CORNER)


def bits(values: np.ndarray, dtype: str) -> np.ndarray:
    """Values of a 16-bit dtype, given as float32, as the kernel takes them."""
    if dtype == "bfloat16":
        return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(np.float16)


def floats(values: np.ndarray) -> np.ndarray:
    """The opposite of `bits`."""
    if values.dtype == np.uint16:
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32)


@cache
def inputs_of(case: Case) -> builders.Inputs:
    return builders.build(case, seed=35)


@cache
def lists_of(case: Case) -> np.ndarray:
    tensors, keywords = inputs_of(case).qsi_args()
    return qsi(*tensors, **keywords)[0]


@cache
def golden_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    return attend(inputs_of(case), lists_of(case))


def attend(inputs: builders.Inputs, block_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Output and LSE in float64."""
    tensors, keywords = inputs.sfaa_args(block_ids, None)
    return sfaa_exact(*tensors, **keywords)


def run(
    inputs: builders.Inputs, block_ids: np.ndarray, **options: Any
) -> tuple[np.ndarray, np.ndarray, Result]:
    """Run the kernel without a plan; options as for `run_sfaa`. Lengths of lists, unused, are zero."""
    lens = np.zeros(block_ids.shape[:-1], np.int32)
    tensors, keywords = inputs.sfaa_args(block_ids.astype(np.int32), lens)
    query = bits(tensors[0], inputs.case.dtype)
    return run_sfaa(query, *tensors[1:], **{**keywords, "plan": None, "return_lse": True, **options})


def plan_of(inputs: builders.Inputs, cores: int) -> np.ndarray:
    return operators.sfaa_plan(inputs, num_cores=cores).numpy()


def assert_right(
    inputs: builders.Inputs,
    golden: tuple[np.ndarray, np.ndarray],
    found: tuple[np.ndarray, np.ndarray, Result],
) -> None:
    out, lse, result = found
    assert not result.findings, str(result)
    assert_output_close(floats(out), golden[0], inputs.case.dtype)
    assert_lse_close(lse, golden[1], builders.largest_logit(inputs))


def check(case: Case, *, planned: bool = False, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Run a case, expect no finding and a right result, and return it."""
    inputs = inputs_of(case)
    plan = plan_of(inputs, options["cores"]) if planned else None
    found = run(inputs, lists_of(case), plan=plan, **options)
    assert_right(inputs, golden_of(case), found)
    return found[0], found[1]


def assert_same(results: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Equal, bit for bit."""
    for result in results[1:]:
        for a, b in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))
