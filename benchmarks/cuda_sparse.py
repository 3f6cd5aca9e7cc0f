# SPDX-License-Identifier: Apache-2.0
"""Decode steps on a CUDA device: the two kernels, the three-step form, and checks of both."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

import sals
from benchmarks import cuda_timing
from sals.selection import Selection

RANK, PAGE_SIZE = 64, 128
OUTPUT_TOLERANCE = 4e-3  # relative L2 of a bf16 output
SCORE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Problem:
    """Requests of one length; heads of 128 channels."""

    batch: int
    tokens: int
    selection: Selection
    n_kv: int = 8
    group: int = 4
    head_dim: int = 128
    static_scales: bool = True

    @property
    def index_bytes(self) -> int:
        """Bytes that the indexer reads: int4 codes and a float32 scale for each token and head."""
        return self.batch * self.tokens * self.n_kv * (RANK // 2 + 4)

    @property
    def stored_bytes(self) -> int:
        return self.index_bytes + self.batch * self.tokens * self.n_kv * 2 * self.head_dim

    def kv_bytes(self, listed_tokens: int) -> int:
        """Bytes that the attention reads of all listed tokens."""
        return listed_tokens * (2 * self.head_dim + (0 if self.static_scales else 8))


class Step:
    """One input set."""

    def __init__(self, problem: Problem, seed: int) -> None:
        p, generator = problem, torch.Generator("cuda").manual_seed(seed)
        self.problem = p
        pages = p.batch * -(-p.tokens // PAGE_SIZE)
        order = torch.randperm(pages, generator=generator, device="cuda", dtype=torch.int32)
        self.table = order.view(p.batch, -1)
        self.lens = torch.full((p.batch,), p.tokens, dtype=torch.int32, device="cuda")

        def codes(row: int) -> Tensor:
            shape = (pages, p.n_kv, PAGE_SIZE, row)
            return torch.randint(-128, 128, shape, generator=generator, device="cuda", dtype=torch.int8)

        def rand(*shape: int) -> Tensor:
            return torch.rand(shape, generator=generator, device="cuda")

        self.key, self.value = codes(p.head_dim), codes(p.head_dim)
        self.index = codes(RANK // 2).view(torch.int32)
        self.index_scale = rand(pages, p.n_kv, PAGE_SIZE)
        scales = (p.n_kv, p.head_dim) if p.static_scales else (pages, p.n_kv, PAGE_SIZE)
        self.key_scale, self.value_scale = ((rand(*scales) + 0.5) / 64 for _ in range(2))
        shape = (p.batch, 1, p.n_kv * p.group, p.head_dim)
        self.query = torch.randn(shape, generator=generator, device="cuda").bfloat16()
        self.projection = torch.eye(p.head_dim, RANK, device="cuda").expand(p.n_kv, -1, -1).contiguous()
        self.index_query = self.project()
        self.ids, self.selected = self.select()

    def project(self) -> tuple[Tensor, Tensor]:
        p = self.problem
        return sals.project_query(self.query, self.projection, n_idx=p.n_kv, scale=p.head_dim**-0.5)

    def select(self) -> tuple[Tensor, Tensor]:
        return sals.select_blocks(
            *self.index_query, self.index, self.index_scale, self.lens,
            max_seq_len=self.problem.tokens, selection=self.problem.selection, block_table=self.table,
        )  # fmt: skip

    def scores(self) -> Tensor:
        return sals.block_scores(
            *self.index_query, self.index, self.index_scale, self.lens,
            max_seq_len=self.problem.tokens, block_size=self.problem.selection.block_size,
            block_table=self.table,
        )  # fmt: skip

    def attend(self, ids: Tensor, selected: Tensor) -> Tensor:
        return sals.sparse_attention(
            self.query, self.key, self.value, self.key_scale, self.value_scale, ids, selected, self.lens,
            scale=self.problem.head_dim**-0.5, block_size=self.problem.selection.block_size,
            block_table=self.table,
        )[0]  # fmt: skip

    def both(self) -> Tensor:
        return self.attend(*self.select())

    def choose_with_torch(self, scores: Tensor) -> Tensor:
        """The lists from scores by torch.topk and sort: the second of three steps. Ties may go either way."""
        s = self.problem.selection
        blocks = scores.shape[-1]
        kept = self.ids.shape[-1] - s.sink_blocks - s.tail_blocks
        candidates = scores[..., s.sink_blocks : blocks - s.tail_blocks]
        best = candidates.topk(kept, dim=-1, sorted=False).indices.sort(dim=-1).values + s.sink_blocks
        ids = torch.empty_like(self.ids)
        ids[..., : s.sink_blocks] = torch.arange(s.sink_blocks, device="cuda")
        ids[..., s.sink_blocks : s.sink_blocks + kept] = best
        ids[..., s.sink_blocks + kept :] = torch.arange(blocks - s.tail_blocks, blocks, device="cuda")
        return ids

    def three_steps(self) -> Tensor:
        return self.attend(self.choose_with_torch(self.scores()), self.selected)

    def check(self) -> None:
        """Scores and attention of the first request in float64, and the choice, before anything is timed."""
        p, table = self.problem, self.table[0].long()
        keys = self.index[table].transpose(0, 1).flatten(1, 2)  # [n_kv, tokens, words]
        shifts = torch.arange(0, 32, 4, device="cuda", dtype=torch.int32)

        def unpack(words: Tensor) -> Tensor:
            nibbles = (words.unsqueeze(-1) >> shifts) & 15
            return ((nibbles ^ 8) - 8).flatten(-2).double()

        packed, query_scale = self.index_query
        dots = (unpack(keys) * unpack(packed[0, 0]).unsqueeze(1)).sum(-1)
        logits = (
            dots * self.index_scale[table].transpose(0, 1).flatten(1).double() * query_scale[0, 0, :, None]
        )
        golden = logits.unflatten(-1, (-1, p.selection.block_size)).logsumexp(-1)
        scores = self.scores()
        require(float((scores[0, 0] - golden).abs().max()) < SCORE_TOLERANCE, "block scores")
        require(bool((self.choose_with_torch(scores) == self.ids).all()), "lists")
        slots = (self.ids[0, 0].long()[..., None] * p.selection.block_size
                 + torch.arange(p.selection.block_size, device="cuda")).flatten(1)  # fmt: skip
        slots = slots[:, : int(self.selected[0, 0, 0])]
        pages, offsets = table[slots // PAGE_SIZE], slots % PAGE_SIZE
        heads = torch.arange(p.n_kv, device="cuda")[:, None]

        def rows(codes: Tensor, scale: Tensor) -> Tensor:
            factor = scale[:, None] if p.static_scales else scale[pages, heads, offsets][..., None]
            return codes[pages, heads, offsets].double() * factor

        query = self.query[0, 0].double().unflatten(0, (p.n_kv, p.group))
        weights = (query @ rows(self.key, self.key_scale).mT * p.head_dim**-0.5).softmax(-1)
        expected = (weights @ rows(self.value, self.value_scale)).flatten(0, 1)
        out = self.attend(self.ids, self.selected)[0, 0].double()
        require(float((out - expected).norm() / expected.norm()) < OUTPUT_TOLERANCE, "attention")


def require(condition: bool, what: str) -> None:
    if not condition:
        raise RuntimeError(f"{what} must agree with the reference before they are timed")


def steps(problem: Problem) -> list[Step]:
    made = [Step(problem, seed) for seed in range(cuda_timing.input_sets(problem.stored_bytes // 4))]
    made[0].check()
    return made
