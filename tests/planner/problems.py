# SPDX-License-Identifier: Apache-2.0
"""Problems for the planner, shared by its tests and its benchmark, and what a good plan of one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sals import _core
from sals._contract import PLAN_OP_QSI, PLAN_OP_SFAA, QSI_TILE_TOKENS, SFAA_TILE_TOKENS
from sals.plan_view import PlanView

TILE_TOKENS = {PLAN_OP_QSI: QSI_TILE_TOKENS, PLAN_OP_SFAA: SFAA_TILE_TOKENS}


@dataclass(frozen=True)
class Problem:
    """Lengths of a batch, and how many rows of what kind they become."""

    name: str
    op: int
    seq_lens: tuple[int, ...]
    heads: int
    group: int = 1
    s_q: int = 1
    shared_list: bool = False

    @property
    def query_rows(self) -> int:
        return self.group * (self.s_q if self.shared_list else 1)

    def tokens(self) -> np.ndarray:
        return _core.plan_tokens(
            self.op,
            np.array(self.seq_lens, np.int32),
            s_q=self.s_q,
            shared_list=self.shared_list,
            params=_core.SelectionParams(),
        )

    def plan_call(self, num_cores: int) -> Callable[[], np.ndarray]:
        """The call that plans this batch, its arguments made beforehand."""
        return partial(
            _core.make_plan,
            self.op,
            np.array(self.seq_lens, np.int32),
            heads=self.heads,
            group=self.group,
            s_q=self.s_q,
            shared_list=self.shared_list,
            params=_core.SelectionParams(),
            num_cores=num_cores,
        )

    def plan(self, num_cores: int) -> PlanView:
        return PlanView(self.plan_call(num_cores)())


def ideal_cycles(op: int, tokens: np.ndarray, heads: int, query_rows: int, num_cores: int) -> float:
    """max(total / cores, the largest indivisible piece): no division into tiles can be faster."""
    total = int(np.sum(_core.row_cycles(op, query_rows, tokens))) * heads
    quantum = np.max(_core.part_cycles(op, query_rows, np.minimum(tokens, TILE_TOKENS[op]), 0, 1))
    return max(total / num_cores, float(quantum))


def imbalance(plan: PlanView, op: int, tokens: np.ndarray, heads: int, query_rows: int) -> float:
    """Slowest core / ideal."""
    slowest = plan.core_cycles(tokens, query_rows).max()
    return float(slowest / ideal_cycles(op, tokens, heads, query_rows, plan.num_cores))


def _random_lengths(batch: int, longest: int, seed: int) -> tuple[int, ...]:
    return tuple(int(n) for n in np.random.default_rng(seed).integers(0, longest + 1, batch))


# Batches on which a published planner for the same two operators reaches up to 1.48.
KNOWN_PROBLEMS = (
    Problem("qsi 84 x 10K", PLAN_OP_QSI, (10240,) * 84, heads=2),
    Problem("qsi 84 x 0..20K", PLAN_OP_QSI, _random_lengths(84, 20480, seed=1), heads=2),
    Problem("qsi 1 x 128K", PLAN_OP_QSI, (131072,), heads=1),
    Problem("qsi 1 x 8K", PLAN_OP_QSI, (8192,), heads=8),
    Problem("sfaa 84 x 0..20K", PLAN_OP_SFAA, _random_lengths(84, 20480, seed=2), 2, 10, 4, True),
    Problem("sfaa 4 x 32K", PLAN_OP_SFAA, (32768,) * 4, heads=1, group=8),
    Problem("sfaa 1 x 128K", PLAN_OP_SFAA, (131072,), heads=1, group=8),
)

# Lengths of ordinary ragged serving batches.
RAGGED_PROBLEMS = tuple(
    Problem(f"{name} {batch} x 0..{longest // 1024}K", op, _random_lengths(batch, longest, batch), 8, group)
    for batch, longest in ((16, 131072), (64, 32768), (256, 32768))
    for name, op, group in (("qsi", PLAN_OP_QSI, 1), ("sfaa", PLAN_OP_SFAA, 4))
)
