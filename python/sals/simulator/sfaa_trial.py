# SPDX-License-Identifier: Apache-2.0
"""The attention's kernel on random data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sals.reference import layouts, select_from_scores, sfaa_exact
from sals.reference.closeness import assert_lse_close, assert_output_close
from sals.reference.selection import SelectionParams
from sals.selection import Selection
from sals.simulator.result import Result
from sals.simulator.roofline import Roofline
from sals.simulator.sfaa import KERNEL, run_sfaa
from sals.simulator.sfaa_roofline import sfaa_roofline
from sals.simulator.trial import Outputs, require_positive

# Correlation of the scores of a block and the next: neighbours resemble each other, so lists hold runs.
SCORE_CORRELATION = 0.6
CODE_SCALE = 1 / 64  # keys of about the size of the queries


@dataclass(frozen=True)
class SfaaTrial:
    """A call of the attention on random data, and how to run it; query tokens share their list."""

    batch: int = 4
    seq_len: int = 10240
    heads: int = 2
    group: int = 8
    head_dim: int = 128
    page_size: int = 128
    s_q: int = 1
    layout: str = "PA_BNSD"
    token_scales: bool = False
    selection: Selection = field(default_factory=Selection)
    cores: int = 24
    plan: str | None = "auto"
    data_seed: int = 0
    library: Path = KERNEL
    preloads: bool = True
    touched_percent: int = 0

    def __post_init__(self) -> None:
        """Reject sizes of which there is no random data."""
        names = ("batch", "seq_len", "heads", "group", "head_dim", "page_size", "s_q")
        require_positive(self, *names)

    def __str__(self) -> str:
        """Show the sizes."""
        return (
            f"sfaa: {self.batch} x {self.seq_len:,} tokens, {self.heads} KV heads, "
            f"{self.group * self.s_q} query rows each, head_dim {self.head_dim}, {self.layout}, "
            f"keep {self.selection.keep}, {self.cores} cores" + ("" if self.preloads else ", task by task")
        )

    def arguments(self) -> dict[str, Any]:
        """Random arguments of `run_sfaa`; lists keep the best blocks of random scores, ascending."""
        rng = np.random.default_rng(self.data_seed)
        dense = self.layout == "BSND"
        num_pages = self.batch if dense else self.batch * -(-self.seq_len // self.page_size)
        tokens = self.seq_len if dense else self.page_size
        cache = layouts.cache_shape(self.layout, num_pages, tokens, self.heads, self.head_dim, np.int8)
        scale: tuple[int, ...] = (self.heads, self.head_dim)
        if self.token_scales:
            scale = layouts.scale_shape(self.layout, num_pages, tokens, self.heads)
        query = (self.batch, self.s_q, self.heads * self.group, self.head_dim)
        table = rng.permutation(num_pages).astype(np.int32).reshape(self.batch, -1)
        seq_lens = np.full(self.batch, self.seq_len, np.int32)
        block_ids, selected_lens = self._lists(rng, seq_lens)
        return {
            "query": bfloat16_bits(rng.standard_normal(query, np.float32)),
            "key_cache": random_codes(rng, cache),
            "value_cache": None if self.layout == "PA_KV" else random_codes(rng, cache),
            "key_scale": random_scales(rng, scale),
            "value_scale": random_scales(rng, scale),
            "block_ids": block_ids,
            "selected_lens": selected_lens,
            "seq_lens": seq_lens,
            "block_table": None if dense else table,
        }

    def keywords(self) -> dict[str, Any]:
        """Arguments of `run_sfaa` that the reference takes, too."""
        scale = float(self.head_dim**-0.5)
        return {"scale": scale, "block_size": self.selection.block_size, "layout": self.layout}

    def run(self, arguments: dict[str, Any], **options: Any) -> tuple[Outputs, Result]:
        """Run the kernel; options as for `sals.simulator.launch`."""
        out, lse, result = run_sfaa(
            **arguments, **self.keywords(), plan=self.plan, cores=self.cores, library=self.library,
            return_lse=True, preloads=self.preloads, touched_percent=self.touched_percent, **options,
        )  # fmt: skip
        assert lse is not None
        return (out, lse), result

    def checker(self, arguments: dict[str, Any]) -> Callable[[Outputs], None]:
        """Return what raises AssertionError unless output and LSE are those of float64, but for rounding."""
        query = floats_of_bfloat16(arguments["query"])
        golden, golden_lse = sfaa_exact(**{**arguments, "query": query}, **self.keywords())
        # No logit is larger than the two norms allow.
        norm = np.sqrt((query.astype(np.float64) ** 2).sum(axis=-1).max())
        key_norm = 127 * float(arguments["key_scale"].max()) * self.head_dim**0.5

        def check(outputs: Outputs) -> None:
            assert_output_close(floats_of_bfloat16(outputs[0]), golden, "bfloat16")
            assert_lse_close(outputs[1], golden_lse, norm * key_norm * self.head_dim**-0.5)

        return check

    def roofline(self, result: Result, arguments: dict[str, Any], outputs: Outputs) -> Roofline:
        """Compare a run in the order of modelled time with its floor."""
        return sfaa_roofline(
            result, arguments, outputs,
            block_size=self.selection.block_size, layout=self.layout, cores=self.cores,
        )  # fmt: skip

    def _lists(self, rng: np.random.Generator, seq_lens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        blocks = -(-self.seq_len // self.selection.block_size)
        scores = rng.standard_normal((self.batch, 1, self.heads, blocks), np.float32)
        for block in range(1, blocks):
            scores[..., block] *= (1 - SCORE_CORRELATION**2) ** 0.5
            scores[..., block] += SCORE_CORRELATION * scores[..., block - 1]
        params = SelectionParams(**self.selection.arguments())
        return select_from_scores(scores, seq_lens, params, max_seq_len=self.seq_len)


def random_codes(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return random int8 codes."""
    return rng.integers(-127, 128, shape, dtype=np.int8)


def random_scales(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return random scales of int8 codes."""
    return (rng.uniform(0.5, 1.5, shape) * CODE_SCALE).astype(np.float32)


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """Return float32 values as the bits of bfloat16, which NumPy lacks, cut off towards zero."""
    return (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16)


def floats_of_bfloat16(bits: np.ndarray) -> np.ndarray:
    """Return the float32 values of bits of bfloat16."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
