# SPDX-License-Identifier: Apache-2.0
"""QSI, SFAA and both against dense PyTorch attention, as ratios in one run.

Usage: python -m benchmarks.bench_attention [--tokens 2048 ...] [--batch 1 8] [--markdown FILE]
Dense forms read a preallocated [batch, n_kv, tokens, head_dim] cache; sals reads pages in random order.
All caches, dense ones too, lie in huge pages. Before every timed call, other memory is read to evict them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import torch

import sals
from benchmarks import dense_forms, machine, timing
from sals import huge_pages
from sals.selection import Selection

N_KV, GROUP, HEAD_DIM, RANK, PAGE_SIZE = 8, 4, 128, 64, 128
PAGE_HEAD = """# Benchmark results

Written by `make bench`; [benchmarks.md](benchmarks.md) says what the figures mean.

"""
DEFAULT_TOKENS = (2048, 4096, 8192, 16384, 32768, 65536, 131072)
INDEX_BYTES = RANK // 2 + 4  # per token and head: int4 codes and a float32 scale
KV_BYTES = 2 * HEAD_DIM  # per listed token and head: int8 key and value


@dataclass
class Sparse:
    """One decode step over random caches: indexer, attention, both."""

    batch: int
    tokens: int
    selection: Selection
    table: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        pages = -(-self.tokens // PAGE_SIZE)
        generator = torch.Generator().manual_seed(self.tokens + self.batch)
        order = torch.randperm(self.batch * pages, generator=generator, dtype=torch.int32)
        self.table = order.view(self.batch, pages)
        self.lens = torch.full((self.batch,), self.tokens, dtype=torch.int32)

        def codes(*shape: int) -> torch.Tensor:
            memory = huge_pages.zeros(shape, torch.int8)
            memory.view(-1).view(torch.int64).random_(-(2**62), 2**62, generator=generator)
            return memory

        self.key = codes(self.batch * pages, N_KV, PAGE_SIZE, HEAD_DIM)
        self.value = codes(self.batch * pages, N_KV, PAGE_SIZE, HEAD_DIM)
        self.index = codes(self.batch * pages, N_KV, PAGE_SIZE, RANK // 2).view(torch.int32)
        self.index_scale = torch.rand(self.batch * pages, N_KV, PAGE_SIZE, generator=generator)
        self.kv_scale = torch.full((N_KV, HEAD_DIM), 1 / 64)
        shape = (self.batch, 1, N_KV * GROUP, HEAD_DIM)
        self.query = torch.randn(shape, generator=generator).bfloat16()
        projection = torch.eye(HEAD_DIM, RANK).expand(N_KV, -1, -1).contiguous()
        self.index_query = sals.project_query(self.query, projection, n_idx=N_KV, scale=HEAD_DIM**-0.5)
        self.ids, self.selected = self.select()

    def select(self) -> tuple[torch.Tensor, torch.Tensor]:
        return sals.select_blocks(
            *self.index_query, self.index, self.index_scale, self.lens,
            max_seq_len=self.tokens, selection=self.selection, block_table=self.table,
        )  # fmt: skip

    def attend(self, lists: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return sals.sparse_attention(
            self.query, self.key, self.value, self.kv_scale, self.kv_scale, *lists, self.lens,
            scale=HEAD_DIM**-0.5, block_size=self.selection.block_size, block_table=self.table,
        )[0]  # fmt: skip

    def candidates(self) -> dict[str, Callable[[], object]]:
        return {
            "QSI": self.select,
            "SFAA": lambda: self.attend((self.ids, self.selected)),
            "QSI + SFAA": lambda: self.attend(self.select()),
        }

    def bytes_read(self) -> dict[str, int]:
        index = self.batch * self.tokens * N_KV * INDEX_BYTES
        kv = int(self.selected.sum()) * KV_BYTES
        return {"QSI": index, "SFAA": kv, "QSI + SFAA": index + kv}


def dense_candidates(batch: int, tokens: int, dtype: torch.dtype, name: str) -> dict[str, Callable]:
    key = huge_pages.zeros((batch, N_KV, tokens, HEAD_DIM), dtype).normal_()
    value = huge_pages.zeros((batch, N_KV, tokens, HEAD_DIM), dtype).normal_()
    query = torch.randn(batch, N_KV * GROUP, 1, HEAD_DIM, dtype=dtype)
    fits = 2 * GROUP * key.nbytes <= dense_forms.MAX_COPY_BYTES
    return {
        f"dense {name}, {form}": lambda run=run: run(query, key, value)
        for form, run in dense_forms.FORMS.items()
        if fits or form not in dense_forms.COPYING
    }


def measure(sparse: Sparse, seconds: float) -> dict[str, float]:
    """Seconds of every candidate: medians over shared rounds, or of one run where that was far too slow."""
    dense = {}
    for name, dtype in dense_forms.DTYPES.items():
        dense |= dense_candidates(sparse.batch, sparse.tokens, dtype, name)
    once: dict[str, float] = {}
    fast = {}
    for name in dense_forms.DTYPES:
        forms = {form: run for form, run in dense.items() if form.startswith(f"dense {name}")}
        contenders, taken = timing.contenders(forms)
        fast |= contenders
        once |= taken
    readers = machine.readers()
    evict = next(iter(readers.values()))
    return once | timing.interleaved({**fast, **sparse.candidates(), **readers}, seconds, evict)


def row(batch: int, tokens: int, seconds: dict[str, float], bytes_read: dict[str, int]) -> list[str]:
    """A line of the table: times, shares of the read bandwidth, ratio to the fastest dense form."""
    read = min(taken for name, taken in seconds.items() if name.startswith("read"))
    bandwidth = machine.READ_BYTES / read
    cells = [str(batch), str(tokens), f"{bandwidth / 1e9:.1f}"]
    for name in ("QSI", "SFAA", "QSI + SFAA"):
        share = bytes_read[name] / seconds[name] / bandwidth
        cells.append(f"{seconds[name] * 1e3:.2f} ({share:.0%})")
    for dtype in dense_forms.DTYPES:
        forms = {n: t for n, t in seconds.items() if n.startswith(f"dense {dtype}")}
        best = min(forms, key=forms.__getitem__)
        ratio = forms[best] / seconds["QSI + SFAA"]
        cells += [f"{forms[best] * 1e3:.2f}", best.split(", ", 1)[1], f"**{ratio:.1f}x**"]
    return cells


HEADER = [
    "batch", "tokens", "read GB/s", "QSI ms (of read)", "SFAA ms (of read)", "both ms (of read)",
    "bf16 ms", "fastest bf16 form", "speed-up", "fp32 ms", "fastest fp32 form", "speed-up",
]  # fmt: skip


def markdown_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, nargs="+", default=DEFAULT_TOKENS)
    parser.add_argument("--batch", type=int, nargs="+", default=(1, 8))
    parser.add_argument("--keep", default="1/4")
    parser.add_argument("--seconds", type=float, default=3.0, help="per batch, length and dtype")
    parser.add_argument("--all-forms", action="store_true", help="also print every dense form's time")
    parser.add_argument("--markdown", type=Path, help="write the table to this file, too")
    options = parser.parse_args()
    selection = Selection(keep=Fraction(options.keep))
    lines = [
        f"Measured on CPU: {machine.describe()}. {N_KV} KV heads, group {GROUP}, head_dim {HEAD_DIM}, "
        f"rank {RANK}, keep {options.keep}, pages of {PAGE_SIZE} tokens in random order.",
        "",
        markdown_line(HEADER),
        markdown_line(["---"] * len(HEADER)),
    ]
    print("\n".join(lines), flush=True)
    for batch in options.batch:
        for tokens in options.tokens:
            sparse = Sparse(batch, tokens, selection)
            seconds = measure(sparse, options.seconds)
            lines.append(markdown_line(row(batch, tokens, seconds, sparse.bytes_read())))
            print(lines[-1], flush=True)
            if options.all_forms:
                for name, taken in seconds.items():
                    if name.startswith("dense"):
                        print(f"    {name}: {taken * 1e3:.2f} ms")
    if options.markdown:
        options.markdown.write_text(PAGE_HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
