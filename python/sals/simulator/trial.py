# SPDX-License-Identifier: Apache-2.0
"""The indexer's kernel on random data: what ``sals sim qsi`` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sals._contract import INT4_PER_WORD
from sals.reference import layouts
from sals.reference.equivalence import DisagreementError, QsiGolden
from sals.selection import Selection
from sals.simulator.qsi import KERNEL, qsi_roofline, run_qsi
from sals.simulator.result import Result
from sals.simulator.roofline import Roofline
from sals.simulator.timeline import plot_timeline
from sals.simulator.trace import Trace


@dataclass(frozen=True)
class QsiTrial:
    """A call of the indexer on random data, and how to run it."""

    batch: int = 4
    seq_len: int = 10240
    heads: int = 2
    rank: int = 64
    page_size: int = 128
    s_q: int = 1
    layout: str = "PA_BNSD"
    selection: Selection = field(default_factory=Selection)
    cores: int = 24
    plan: str | None = "auto"
    data_seed: int = 0
    library: Path = KERNEL

    def __post_init__(self) -> None:
        """Reject sizes of which there is no random data."""
        for name in ("batch", "seq_len", "heads", "rank", "page_size", "s_q"):
            if getattr(self, name) < 1:
                raise ValueError(f"sals sim: {name} must be positive, got {getattr(self, name)}")

    def __str__(self) -> str:
        """Show the sizes."""
        return (
            f"qsi: {self.batch} x {self.seq_len:,} tokens, {self.heads} index heads, rank {self.rank}, "
            f"{self.layout}, {self.cores} cores"
        )

    def arguments(self) -> dict[str, Any]:
        """Random arguments of `run_qsi`; every code of int4 occurs."""
        rng = np.random.default_rng(self.data_seed)
        pages_of_request = -(-self.seq_len // self.page_size)
        dense = self.layout == "BSND"
        num_pages = self.batch if dense else self.batch * pages_of_request
        tokens = self.seq_len if dense else self.page_size
        words = self.rank // INT4_PER_WORD
        cache = layouts.cache_shape(self.layout, num_pages, tokens, self.heads, words, np.int32)
        scale = layouts.scale_shape(self.layout, num_pages, tokens, self.heads)
        query = (self.batch, self.s_q, self.heads)
        table = rng.permutation(num_pages).astype(np.int32).reshape(self.batch, -1)
        return {
            "query": random_words(rng, (*query, words)),
            "query_scale": rng.uniform(0.02, 0.08, query).astype(np.float32),
            "key_cache": random_words(rng, cache),
            "key_scale": rng.uniform(0.05, 0.3, scale).astype(np.float32),
            "seq_lens": np.full(self.batch, self.seq_len, np.int32),
            "block_table": None if dense else table,
        }

    def keywords(self) -> dict[str, Any]:
        """Arguments of `run_qsi` that the reference takes, too."""
        return {"max_seq_len": self.seq_len, "layout": self.layout}


def random_words(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return random int32 words, that is, random int4 codes."""
    return rng.integers(-(2**31), 2**31, shape, dtype=np.int32)


@dataclass(frozen=True)
class Run:
    """One schedule of a trial; `disagreement` is empty if the result is right."""

    seed: int
    result: Result
    roofline: Roofline | None  # in the order of modelled time
    disagreement: str


def run_trial(
    trial: QsiTrial, seeds: range, *, trace: Path | None = None, plot: Path | None = None,
    window: tuple[float, float] | None = None, check: bool = True,
) -> Iterator[Run]:  # fmt: skip
    """Run a trial under several schedules; seed 0, in the order of modelled time, is traced.

    Parameters
    ----------
    trial : QsiTrial
    seeds : range
        Schedules.
    trace, plot : path, optional
        Where to put the timeline of seed 0, as JSON and as a picture.
    window : (float, float), optional
        Modelled microseconds that the picture shows.
    check : bool
        Whether to compare with the NumPy reference.
    """
    arguments = trial.arguments()
    golden = _golden(trial, arguments) if check else None
    for seed in seeds:
        traced = seed == 0 and (trace is not None or plot is not None)
        block_ids, selected_lens, result = run_qsi(
            **arguments, **trial.keywords(), selection=trial.selection, plan=trial.plan, cores=trial.cores,
            seed=seed, trace=traced, library=trial.library,
        )  # fmt: skip
        if result.trace is not None:
            _save(result.trace, trial, trace, plot, window)
        roofline = None
        if result.cycles:
            roofline = qsi_roofline(result, arguments, block_ids, trial.selection, trial.cores)
        yield Run(seed, result, roofline, _disagreement(golden, block_ids, selected_lens))


def _golden(trial: QsiTrial, arguments: dict[str, Any]) -> QsiGolden:
    names = ("query", "query_scale", "key_cache", "key_scale", "seq_lens")
    return QsiGolden(
        *(arguments[name] for name in names), block_table=arguments["block_table"],
        **trial.keywords(), **trial.selection.arguments(),
    )  # fmt: skip


def _disagreement(golden: QsiGolden | None, block_ids: np.ndarray, selected_lens: np.ndarray) -> str:
    try:
        if golden is not None:
            golden.check(block_ids, selected_lens)
    except DisagreementError as error:
        return str(error)
    return ""


def _save(
    timeline: Trace,
    trial: QsiTrial,
    trace: Path | None,
    plot: Path | None,
    window: tuple[float, float] | None,
) -> None:
    if trace is not None:
        timeline.write_json(trace)
    if plot is not None:
        plot_timeline(timeline, plot, window=window, title=str(trial))
