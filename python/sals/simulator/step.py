# SPDX-License-Identifier: Apache-2.0
"""A decode step of one layer on the simulator, and dense attention by the same kernel beside it.

The step is project_query, qsi and sfaa. Its plans are made by an AI CPU on another stream, once per step for
all layers, which is not modelled. Dense attention is sfaa with every block in its lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sals._contract import MAX_SELECTED_BLOCKS
from sals.reference import layouts
from sals.selection import Keep, Selection
from sals.simulator.cache import run_project_query
from sals.simulator.qsi_trial import QsiTrial
from sals.simulator.result import Finding, Result
from sals.simulator.roofline import Roofline, roofline
from sals.simulator.sfaa_trial import SfaaTrial
from sals.simulator.step_check import disagreement, disagreement_of_query
from sals.simulator.trace import NOTE

# How many times faster than dense int8 attention the step is to be: by batch and tokens, then by keep.
GOALS = {
    (84, 10_240): {Fraction(1, 4): 2.1, Fraction(1, 6): 2.5},
    (84, 32_768): {Fraction(1, 4): 2.3, Fraction(1, 6): 2.8},
    (1, 131_072): {Fraction(1, 4): 1.9, Fraction(1, 6): 2.2},
}


@dataclass(frozen=True)
class StepTrial:
    """A decode step on random data; query tokens of a request share the list that the newest one chooses."""

    batch: int = 84
    seq_len: int = 10240
    heads: int = 2
    group: int = 8
    head_dim: int = 128
    rank: int = 64
    page_size: int = 128
    s_q: int = 1
    layout: str = "PA_BNSD"
    cores: int = 24
    data_seed: int = 0

    def __str__(self) -> str:
        """Show the sizes."""
        return (
            f"step: {self.batch} x {self.seq_len:,} tokens, {self.heads} KV heads, "
            f"{self.group * self.s_q} query rows each, head_dim {self.head_dim}, rank {self.rank}, "
            f"{self.layout}, {self.cores} cores"
        )

    def indexer(self, keep: Keep) -> QsiTrial:
        """Return the call of the indexer."""
        return QsiTrial(
            self.batch, self.seq_len, self.heads, self.rank, self.page_size, 1,
            layouts.index_layout(self.layout), selection_of(keep), self.cores, data_seed=self.data_seed,
        )  # fmt: skip

    def attention(self, keep: Keep) -> SfaaTrial:
        """Return the call of the attention."""
        return SfaaTrial(
            self.batch, self.seq_len, self.heads, self.group, self.head_dim, self.page_size, self.s_q,
            self.layout, selection=selection_of(keep), cores=self.cores, data_seed=self.data_seed,
        )  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """One kernel: modelled microseconds without launch, and how few its bytes can take."""

    name: str
    microseconds: float
    floor: float


@dataclass(frozen=True)
class StepTimes:
    """The stages of a step by keep, and of dense attention."""

    trial: StepTrial
    steps: dict[Fraction, tuple[Stage, ...]]
    dense: Stage
    launch: float  # microseconds of each kernel
    findings: tuple[Finding, ...]
    wrong: tuple[str, ...]  # what the kernels return and the references don't

    def speedup(self, keep: Fraction) -> float:
        """Return dense time over the step's, launches apart."""
        return self.dense.microseconds / sum(stage.microseconds for stage in self.steps[keep])

    def goal(self, keep: Fraction) -> float | None:
        """Return the speed-up to reach, if there is one for these sizes."""
        return GOALS.get((self.trial.batch, self.trial.seq_len), {}).get(keep)


def selection_of(keep: Keep) -> Selection:
    """Return the default selection without a bound on kept blocks."""
    return Selection(keep=keep, max_blocks=MAX_SELECTED_BLOCKS)


def run_step(trial: StepTrial, keeps: Iterable[Keep], *, check: bool = False, **options: Any) -> StepTimes:
    """Run the kernels of a step for each keep, and dense attention once.

    Parameters
    ----------
    trial : StepTrial
    keeps : iterable of int, float, str or Fraction
        Shares of the candidate blocks.
    check : bool
        Whether to compare a few requests of every stage with the references.
    **options
        Of :func:`sals.simulator.launch`.
    """
    selections = [selection_of(keep) for keep in keeps]
    arguments = trial.attention(1).arguments()
    index = trial.indexer(1).arguments()
    findings: dict[Finding, None] = {}
    wrong: list[str] = []
    steps: dict[Fraction, tuple[Stage, ...]] = {}
    project, result = _project(trial, arguments["query"], index, wrong if check else None, options)
    findings.update(dict.fromkeys(result.findings))
    for selection in selections:
        indexer = trial.indexer(selection.keep)
        lists, result = indexer.run(index, **options)
        findings.update(dict.fromkeys(result.findings))
        selected = _stage("qsi", result, indexer.roofline(result, index, lists))
        if check:
            wrong += disagreement(f"qsi, keep {selection.keep}", indexer, index, lists)
        listed = {**arguments, "block_ids": lists[0], "selected_lens": lists[1]}
        attention = trial.attention(selection.keep)
        attended, result = _attend(attention, "sfaa", listed, wrong if check else None, options)
        findings.update(dict.fromkeys(result.findings))
        steps[Fraction(selection.keep)] = project, selected, attended
    arguments["block_ids"], arguments["selected_lens"] = every_block(trial)
    dense, result = _attend(trial.attention(1), "dense", arguments, wrong if check else None, options)
    findings.update(dict.fromkeys(result.findings))
    launch = result.launch_cycles / (result.clock_ghz * 1e3)
    return StepTimes(trial, steps, dense, launch, tuple(findings), tuple(wrong))


def every_block(trial: StepTrial) -> tuple[np.ndarray, np.ndarray]:
    """Return lists of all blocks, one a request, and the tokens in them."""
    blocks = np.arange(-(-trial.seq_len // Selection().block_size), dtype=np.int32)
    block_ids = np.broadcast_to(blocks, (trial.batch, 1, 1, len(blocks)))
    return np.ascontiguousarray(block_ids), np.full((trial.batch, 1, 1), trial.seq_len, np.int32)


def _stage(name: str, result: Result, roof: Roofline) -> Stage:
    return Stage(name, result.microseconds, roof.floor / (result.clock_ghz * 1e3))


def _project(
    trial: StepTrial, query: np.ndarray, index: dict[str, Any], wrong: list[str] | None,
    options: dict[str, Any],
) -> tuple[Stage, Result]:  # fmt: skip
    """Put the index query of the newest tokens into the indexer's arguments."""
    rng = np.random.default_rng(trial.data_seed)
    shape = (trial.heads, trial.head_dim, trial.rank)
    projection = rng.standard_normal(shape, np.float32) / np.float32(trial.head_dim**0.5)
    newest = np.ascontiguousarray(query[:, -1:])
    factor = float(trial.head_dim**-0.5)
    packed, scale, result = run_project_query(
        newest, projection, n_idx=trial.heads, scale=factor, cores=2 * trial.cores, **options
    )
    index["query"], index["query_scale"] = packed, scale
    if wrong is not None:
        wrong += disagreement_of_query(newest, projection, factor, packed, scale)
    moved = sum(array.nbytes for array in (newest, projection, packed, scale))
    return _stage("project_query", result, roofline(result, moved, 0, trial.cores)), result


def _attend(
    attention: SfaaTrial, name: str, arguments: dict[str, Any], wrong: list[str] | None,
    options: dict[str, Any],
) -> tuple[Stage, Result]:  # fmt: skip
    outputs, result = attention.run(arguments, **options)
    if wrong is not None:
        wrong += disagreement(f"{name}, keep {attention.selection.keep}", attention, arguments, outputs)
    return _stage(name, result, attention.roofline(result, arguments, outputs)), result


def step_text(times: StepTimes) -> str:
    """Lay out the stages with their floors, the sums against dense attention, and the goals."""
    keeps = list(times.steps)
    stages = list(zip(*times.steps.values(), strict=True))
    sums = [total_of(stages) for stages in (*times.steps.values(), (times.dense,))]
    goals = [times.goal(keep) for keep in keeps]
    rows = [
        ("modelled us (floor)", [*(f"keep {keep}" for keep in keeps), "dense"]),
        *((of_stage[0].name, map(_cell, of_stage)) for of_stage in stages),
        ("in all", map(_cell, sums)),
        ("above the floor", (f"{stage.microseconds - stage.floor:.1f}" for stage in sums)),
        ("against dense", (f"{times.speedup(keep):.2f} x" for keep in keeps)),
        *([("goal", (f"{goal} x" if goal else "-" for goal in goals))] if any(goals) else []),
    ]
    lines = [f"{name:<22}" + "".join(f"{cell:>20}" for cell in cells) for name, cells in rows]
    launches = len(stages)
    lines.append(
        f"Launches apart: {launches} kernels against 1, {times.launch:.1f} us each at most, "
        "less in a captured graph. Plans are made beside the step."
    )
    return "\n".join([*lines, NOTE])


def _cell(stage: Stage) -> str:
    return f"{stage.microseconds:.1f} ({stage.floor:.1f})"


def total_of(stages: Sequence[Stage]) -> Stage:
    """Add up stages that run one after the other."""
    time = sum(stage.microseconds for stage in stages)
    return Stage("in all", time, sum(stage.floor for stage in stages))
