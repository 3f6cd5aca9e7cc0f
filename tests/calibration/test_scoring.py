# SPDX-License-Identifier: Apache-2.0
"""The restated operators against loops that are obviously right."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

import sals  # noqa: F401 - registers the operators
from sals.calibration.scoring import Budget, Ranking, as_int8, index_block_scores, quantize


def test_quantize_rounds_half_to_even_and_keeps_zero():
    codes, scale = quantize(torch.tensor([[7.0, 0.5, 1.5, -2.5, -7.0], [0.0, 0.0, 0.0, 0.0, 0.0]]), 7)
    assert codes.tolist() == [[7, 0, 2, -2, -7], [0, 0, 0, 0, 0]]
    assert scale.tolist() == [1, 0]


def test_int8_error_is_at_most_half_a_step():
    x = torch.randn(50, 3, 16, generator=torch.Generator().manual_seed(0))
    # Half a step, and three fp32 roundings of values up to amax (the scale, the quotient and the product).
    bound = x.abs().amax(-1, keepdim=True) * (0.5 / 127 + 3 * 2**-23)
    assert ((as_int8(x) - x).abs() <= bound).all()


@pytest.mark.parametrize("joint", [False, True])
def test_index_scores_are_the_log_sum_of_quantised_products(joint):
    generator = torch.Generator().manual_seed(3)
    s_q, seq_len, n_q, n_kv, head_dim, rank, block = 3, 21, 4, 2, 8, 8, 8
    query = torch.randn(s_q, n_q, head_dim, generator=generator)
    key = torch.randn(seq_len, n_kv, head_dim, generator=generator)
    n_idx, in_dim = (1, n_kv * head_dim) if joint else (n_kv, head_dim)
    projection = torch.randn(n_idx, in_dim, rank, generator=generator)
    scores = index_block_scores(query, key, projection, 0.3, block)
    assert scores.shape == (n_idx, s_q, 3)

    def latent(rows: list[torch.Tensor], head: int) -> tuple[list[int], float]:
        x = (torch.cat(rows) if joint else rows[head]) @ projection[head]
        scale = float(x.abs().max()) / 7
        return [round(float(value) / scale) for value in x], scale

    for head in range(n_idx):
        for s in range(s_q):
            means = [query[s, :2].mean(0), query[s, 2:].mean(0)]
            query_codes, query_scale = latent(means, head)
            logits = []
            for t in range(seq_len):
                key_codes, key_scale = latent(list(key[t]), head)
                dot = sum(a * b for a, b in zip(query_codes, key_codes, strict=True))
                logits.append(dot * query_scale * 0.3 * key_scale)
            for b in range(3):
                expected = math.log(sum(math.exp(x) for x in logits[b * block : (b + 1) * block]))
                # fp32 against fp64 over logits below 100: a few ulp of 100.
                assert scores[head, s, b] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("keep", [Fraction(0), Fraction(1, 4), Fraction(3, 10), Fraction(1)])
@pytest.mark.parametrize(("sink", "tail"), [(0, 1), (1, 2), (2, 9)])
def test_selection_follows_the_rule_row_by_row(keep, sink, tail):
    budget = Budget(block_size=8, sink_blocks=sink, tail_blocks=tail)
    seq_len, s_q = 83, 20
    # Few distinct values make ties, which go to the lower block.
    scores = torch.randint(0, 4, (2, s_q, 11), generator=torch.Generator().manual_seed(5)).float()
    selected = Ranking(scores, seq_len, budget).selected(keep)
    for head in range(2):
        for s in range(s_q):
            blocks = math.ceil((seq_len - s_q + 1 + s) / 8)
            candidates = range(sink, max(blocks - tail, sink))
            best = sorted(candidates, key=lambda b: (-float(scores[head, s, b]), b))
            kept = set(best[: math.ceil(len(candidates) * keep)])
            kept |= set(range(blocks)) - set(candidates)
            assert selected[head, s].nonzero()[:, 0].tolist() == sorted(kept), f"head {head}, row {s}"


@pytest.mark.parametrize("joint", [False, True])
def test_the_native_operators_give_the_same_index(joint):
    generator = torch.Generator().manual_seed(11)
    tokens, n_q, n_kv, head_dim, rank, block = 40, 6, 2, 64, 32, 16
    query = torch.randn(1, n_q, head_dim, generator=generator)
    key = torch.randn(tokens, n_kv, head_dim, generator=generator)
    n_idx, in_dim = (1, n_kv * head_dim) if joint else (n_kv, head_dim)
    projection = torch.randn(n_idx, in_dim, rank, generator=generator) / in_dim**0.5
    packed, query_scale = torch.ops.sals.project_query(query[None], projection, n_idx=n_idx, scale=0.125)
    # A key is quantised as a query with one head per KV head.
    key_packed, key_scale = torch.ops.sals.project_query(key[None], projection, n_idx=n_idx, scale=1.0)
    native = torch.ops.sals.block_scores(
        packed,
        query_scale,
        key_packed,
        key_scale,
        torch.tensor([tokens], dtype=torch.int32),
        max_seq_len=tokens,
        block_size=block,
        layout="BSND",
        query_layout="BSND",
    )
    ours = index_block_scores(query, key, projection, 0.125, block)
    # Equal codes and fp32 arithmetic on both sides; exp and ln differ by a few ulp of scores below 64.
    torch.testing.assert_close(native[0].transpose(0, 1), ours, rtol=0, atol=64 * 8 * 2**-23)
