# SPDX-License-Identifier: Apache-2.0
"""The detectors on the indexer's kernel: every synchronisation that is left out is reported."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from cases import Case
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
    LONG.but(seq_lens=(100,)),
    LONG.but(seq_lens=(0,)),
    *(
        VERY_LONG.but(seq_lens=(70_001,) * 4, order=order, **changes)
        for order in ("index", "score")
        for changes in ({}, {"coverage": 0.7}, {"ties": True}, {"coverage": 0.7, "ties": True})
    ),
)
RUNS = ({"seed": 0}, {"seed": 5}, {"seed": 9, "plan": None})
CORES = 2


class Mutations:
    """Each synchronisation, or both sides of a flag, with the runs in which it could be left out."""

    def __init__(self) -> None:
        self._runs: dict[str, list[tuple[Case, dict[str, Any]]]] = defaultdict(list)
        for case in CASES:
            for options in RUNS:
                _, _, result = run(inputs_of(case), cores=CORES, **options)
                assert not result.findings, str(result)
                for site in result.sync_sites:
                    for mutation in {site.key, site.pair} - {""}:
                        self._runs[mutation].append((case, options))

    def names(self, sub_block: int) -> list[str]:
        """All of them, or those of vector cores."""
        return sorted(name for name in self._runs if sub_block < 0 or not name.startswith("AIC "))

    def is_reported(self, name: str, sub_block: int) -> bool:
        """Whether any run of those that have it notices."""
        return any(
            run(inputs_of(case), cores=CORES, mutation=(name, sub_block), **options)[2].findings
            for case, options in self._runs[name]
        )


@pytest.fixture(scope="module")
def mutations() -> Mutations:
    return Mutations()


@pytest.mark.parametrize("sub_block", [-1, pytest.param(0, marks=pytest.mark.slow), 1])
def test_every_synchronisation_is_needed(mutations, sub_block):
    """Left out on every core, or on one vector core of each pair."""
    names = mutations.names(sub_block)
    assert len(names) > 50
    missed = [name for name in names if not mutations.is_reported(name, sub_block)]
    assert not missed, "not reported:\n" + "\n".join(missed)
