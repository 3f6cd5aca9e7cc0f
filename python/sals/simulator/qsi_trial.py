# SPDX-License-Identifier: Apache-2.0
"""The indexer's kernel on random data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sals._contract import INT4_PER_WORD
from sals.reference import layouts
from sals.reference.equivalence import QsiGolden
from sals.selection import Selection
from sals.simulator.qsi import KERNEL, qsi_roofline, run_qsi
from sals.simulator.result import Result
from sals.simulator.roofline import Roofline
from sals.simulator.trial import Outputs, require_positive


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
    distinct: int = 0  # requests with pages of their own; the others share theirs. 0: all

    def __post_init__(self) -> None:
        """Reject sizes of which there is no random data."""
        require_positive(self, "batch", "seq_len", "heads", "rank", "page_size", "s_q")

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
        distinct = self.distinct or self.batch
        num_pages = self.batch if dense else distinct * pages_of_request
        tokens = self.seq_len if dense else self.page_size
        words = self.rank // INT4_PER_WORD
        cache = layouts.cache_shape(self.layout, num_pages, tokens, self.heads, words, np.int32)
        scale = layouts.scale_shape(self.layout, num_pages, tokens, self.heads)
        query = (self.batch, self.s_q, self.heads)
        table = None if dense else self._table(rng, distinct, pages_of_request)
        return {
            "query": random_words(rng, (*query, words)),
            "query_scale": rng.uniform(0.02, 0.08, query).astype(np.float32),
            "key_cache": random_words(rng, cache),
            "key_scale": rng.uniform(0.05, 0.3, scale).astype(np.float32),
            "seq_lens": np.full(self.batch, self.seq_len, np.int32),
            "block_table": table,
        }

    def _table(self, rng: np.random.Generator, distinct: int, pages: int) -> np.ndarray:
        """Pages in random order. Neighbours share them, each in an order of its own."""
        owned = rng.permutation(distinct * pages).astype(np.int32).reshape(distinct, pages)
        return (
            owned
            if distinct == self.batch
            else rng.permuted(owned[np.arange(self.batch) * distinct // self.batch], axis=1)
        )

    def keywords(self) -> dict[str, Any]:
        """Arguments of `run_qsi` that the reference takes, too."""
        return {"max_seq_len": self.seq_len, "layout": self.layout}

    def run(self, arguments: dict[str, Any], **options: Any) -> tuple[Outputs, Result]:
        """Run the kernel; options as for `sals.simulator.launch`."""
        block_ids, selected_lens, result = run_qsi(
            **arguments, **self.keywords(), selection=self.selection, plan=self.plan, cores=self.cores,
            library=self.library, **options,
        )  # fmt: skip
        return (block_ids, selected_lens), result

    def checker(self, arguments: dict[str, Any]) -> Callable[[Outputs], None]:
        """Return what raises AssertionError unless lists and lengths are right, but for near ties."""
        names = ("query", "query_scale", "key_cache", "key_scale", "seq_lens")
        golden = QsiGolden(
            *(arguments[name] for name in names), block_table=arguments["block_table"],
            **self.keywords(), **self.selection.arguments(),
        )  # fmt: skip

        def check(outputs: Outputs) -> None:
            golden.check(*outputs)

        return check

    def roofline(self, result: Result, arguments: dict[str, Any], outputs: Outputs) -> Roofline:
        """Compare a run in the order of modelled time with its floor."""
        return qsi_roofline(result, arguments, outputs[0], self.selection, self.cores)


def random_words(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return random int32 words, that is, random int4 codes."""
    return rng.integers(-(2**31), 2**31, shape, dtype=np.int32)
