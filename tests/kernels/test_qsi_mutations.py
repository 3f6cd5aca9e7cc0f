# SPDX-License-Identifier: Apache-2.0
"""The detectors on the indexer's kernel: every synchronisation that is left out is reported."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import builders
from qsi_kernel import LONG, VERY_LONG, inputs_of, run

# Together they run every synchronisation of the kernel, in both policies, modes and key forms.
CASES = (
    LONG,
    LONG.but(order="score"),
    LONG.but(coverage=0.7),
    LONG.but(coverage=0.7, order="score"),
    LONG.but(rank=128, layout="PA_NZ"),
    LONG.but(rank=128, layout="PA_BSND", ties=True),
    LONG.but(rank=256, layout="BSND", n_idx=1),
    LONG.but(seq_lens=(3000,) * 9, tail_blocks=2),
    VERY_LONG,
    VERY_LONG.but(order="score"),
    VERY_LONG.but(coverage=0.7),
    VERY_LONG.but(coverage=0.7, order="score"),
    VERY_LONG.but(ties=True),
)
RUNS = ({"seed": 0}, {"seed": 5}, {"seed": 9, "plan": None})
CORES = 2

Uses = dict[str, list[tuple[builders.Inputs, dict[str, Any]]]]


@pytest.fixture(scope="module")
def uses() -> Uses:
    """The runs in which each synchronisation, or both sides of a flag, could be left out."""
    found: Uses = defaultdict(list)
    for case in CASES:
        for options in RUNS:
            _, _, result = run(inputs_of(case), cores=CORES, **options)
            assert not result.findings, str(result)
            for site in result.sync_sites:
                for mutation in {site.key, site.pair} - {""}:
                    found[mutation].append((inputs_of(case), options))
    return found


def is_reported(uses: Uses, mutation: str, sub_block: int) -> bool:
    return any(
        run(inputs, cores=CORES, mutation=(mutation, sub_block), **options)[2].findings
        for inputs, options in uses[mutation]
    )


@pytest.mark.parametrize("sub_block", [-1, pytest.param(0, marks=pytest.mark.slow), 1])
def test_every_synchronisation_is_needed(uses, sub_block):
    """Left out on every core, or on one vector core of each pair."""
    on_cube = [mutation for mutation in uses if mutation.startswith("AIC ")]
    candidates = uses if sub_block < 0 else uses.keys() - on_cube
    assert len(candidates) > 50
    missed = [mutation for mutation in candidates if not is_reported(uses, mutation, sub_block)]
    assert not missed, "not reported:\n" + "\n".join(sorted(missed))
