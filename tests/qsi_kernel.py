# SPDX-License-Identifier: Apache-2.0
"""Cases for the indexer's NPU kernel, run on the simulator and compared with the NumPy reference."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import builders
from cases import CORNER, CORRECTNESS, Case
from sals.reference.equivalence import QsiGolden
from sals.selection import Selection
from sals.simulator import Result, run_qsi

DEVICE_RANKS = (64, 128, 256)


def index_part(case: Case) -> Case:
    """The case without what only the attention sees."""
    default = Case("")
    ignored = ("name", "n_kv", "group", "head_dim", "static_scales", "dtype", "causal")
    changes = {name: getattr(default, name) for name in ignored}
    return case.but(**changes, n_idx=case.index_heads, layout=case.index_layout)


def distinct(cases: tuple[Case, ...]) -> list[Case]:
    """Cases that the kernel takes, each once as far as an index can tell."""
    found: dict[Case, Case] = {}
    for case in cases:
        if case.rank in DEVICE_RANKS:
            found.setdefault(index_part(case), case)
    return list(found.values())


CASES = distinct(CORRECTNESS + CORNER)

# Long enough for several steps of the cube, several chunks of scores and rows cut by the plan.
LONG = Case("long", seq_lens=(20000, 3, 9000), page_size=128, tail_blocks=32)
# Scores of several chunks.
VERY_LONG = Case("very-long", seq_lens=(100_003,), n_kv=1, block_size=8, page_size=512, tail_blocks=32)


@cache
def inputs_of(case: Case) -> builders.Inputs:
    return builders.build(case, seed=30)


@cache
def golden_of(case: Case) -> QsiGolden:
    tensors, keywords = inputs_of(case).qsi_args()
    return QsiGolden(*tensors, **keywords)


def run(inputs: builders.Inputs, **options: Any) -> tuple[np.ndarray, np.ndarray, Result]:
    """Run the kernel on the inputs of a case; options as for `run_qsi`."""
    tensors, keywords = inputs.qsi_args()
    case = inputs.case
    names = set(case.selection_args())
    chosen = {name: keywords[name] for name in names - {"keep_num", "keep_den"}}
    selection = Selection(keep=Fraction(case.keep_num, case.keep_den), **chosen)
    others = {name: value for name, value in keywords.items() if name not in names}
    return run_qsi(*tensors, selection=selection, **others, **options)


def check(case: Case, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Run a case, expect no finding and a right result, and return it."""
    block_ids, selected_lens, result = run(inputs_of(case), **options)
    assert not result.findings, f"{options}\n{result}"
    golden_of(case).check(block_ids, selected_lens)
    return block_ids, selected_lens


def assert_same(results: list[tuple[np.ndarray, np.ndarray]]) -> None:
    for result in results[1:]:
        for a, b in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(a, b)
