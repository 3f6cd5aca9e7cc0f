# SPDX-License-Identifier: Apache-2.0
"""The detectors on the attention's kernel: every synchronisation that is left out is reported."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from cases import Case
from sals.simulator import Result
from sfaa_kernel import inputs_of, lists_of, plan_of, run

DECODE = Case("mutations", seq_lens=(3000, 700, 0, 5000), n_kv=1, group=8, head_dim=128, page_size=128)
MTP = DECODE.but(seq_lens=(1500, 2, 77, 2000), group=10, s_q=4, shared_list=True, head_dim=64)
DENSE = Case("dense", seq_lens=(900,), n_kv=1, page_size=128, keep_den=1, head_dim=128)

# Together they run every synchronisation of the kernel: with a number of cores, cut by a plan or not.
CASES = (
    (DECODE, 2, False),
    (DECODE.but(group=40, head_dim=256, layout="PA_NZ", dtype="float16"), 7, True),
    (MTP.but(layout="BSND", static_scales=False, n_kv=2), 1, False),
    (MTP.but(layout="PA_KV", static_scales=False), 5, True),
    (DECODE.but(seq_lens=(1500,), group=1, head_dim=256), 1, False),
    (DECODE.but(seq_lens=(9000,)), 6, True),
    (DENSE.but(group=64), 1, False),
    (DENSE.but(group=40, head_dim=64, seq_lens=(900, 200)), 1, False),
    (DENSE.but(group=40, seq_lens=(50, 200, 30, 400, 0, 20, 10, 700)), 1, False),
)
SEEDS = (1, 0, 2, 3)
TOUCHED = (0, 100)

# Left out without harm, with the reason.
REDUNDANT = {
    "AIV S_V(0)": "inside CreateVecIndex: what the scalar unit has written is there for whatever it "
    "dispatches",
}


class Mutations:
    """Each synchronisation, or both sides of a flag, with the cases in which it could be left out."""

    def __init__(self) -> None:
        self._cases: dict[str, set[int]] = defaultdict(set)
        for number in range(len(CASES)):
            result = self.run(number, SEEDS[0])
            assert not result.findings, str(result)
            for site in result.sync_sites:
                for mutation in {site.key, site.pair} - {""}:
                    self._cases[mutation].add(number)

    @staticmethod
    def run(number: int, seed: int, **options: Any) -> Result:
        case, cores, planned = CASES[number]
        plan = plan_of(inputs_of(case), cores) if planned else None
        options["touched_percent"] = TOUCHED[number % len(TOUCHED)]
        return run(inputs_of(case), lists_of(case), cores=cores, plan=plan, seed=seed, **options)[2]

    def names(self, sub_block: int) -> list[str]:
        """All of them, or those of vector cores."""
        return sorted(name for name in self._cases if sub_block < 0 or not name.startswith("AIC "))

    def is_reported(self, name: str, sub_block: int) -> bool:
        """Whether any run of those that have it notices."""
        return any(
            self.run(number, seed, mutation=(name, sub_block), max_findings=1).findings
            for number in sorted(self._cases[name])
            for seed in SEEDS
        )


@pytest.fixture(scope="module")
def mutations() -> Mutations:
    return Mutations()


@pytest.mark.parametrize("sub_block", [-1, pytest.param(0, marks=pytest.mark.slow), 1])
def test_every_synchronisation_is_needed(mutations, sub_block):
    """Left out on every core, or on one vector core of each pair."""
    names = mutations.names(sub_block)
    assert len(names) > 50
    needed = [name for name in names if name not in REDUNDANT]
    missed = [name for name in needed if not mutations.is_reported(name, sub_block)]
    assert not missed, "not reported:\n" + "\n".join(missed)
