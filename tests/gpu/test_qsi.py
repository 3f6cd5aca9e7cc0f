# SPDX-License-Identifier: Apache-2.0
"""Kernel one: scores with the bits of the CPU backend, and with them the same lists, id by id."""

from __future__ import annotations

import pytest
import torch

import builders
import calls
import operators
from cases import CORNER, CORRECTNESS, LAYOUTS, Case
from gpu.backends import Backend


def assert_same(found, expected) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


def check(backend: Backend, inputs: builders.Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and lists of the backend are those of the CPU operators, which have their own tests."""
    scores = operators.scores_call(inputs)
    assert_same([backend.run("block_scores", scores)], [calls.run("block_scores", scores)])
    call = operators.qsi_call(inputs)
    found = backend.run("qsi", call)
    assert_same(found, calls.run("qsi", call))
    return found


@pytest.mark.parametrize("case", CORRECTNESS + CORNER, ids=lambda case: case.name)
def test_every_case(backend: Backend, case: Case) -> None:
    check(backend, builders.build(case, seed=20))


LONG = Case("long", seq_lens=(5000, 0, 2100, 9000, 530), page_size=64, group=1)


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"coverage": 0.6}, {"order": "score"}, {"s_q": 3, "query_lens": (3, 1, 0, 2, 3)}, {"ties": True},
        {"page_size": 128}, {"page_size": 48}, {"max_seq_len": 100_000}, {"sink_blocks": 70},
        {"rank": 128, "layout": "PA_NZ"}, {"rank": 256, "n_idx": 1, "page_size": 128}, {"rank": 32},
    ],
    ids=str,
)  # fmt: skip
def test_rows_of_several_chunks(backend: Backend, changes: dict) -> None:
    check(backend, builders.build(LONG.but(**changes), seed=11))


def row(length: int, seed: int, **changes) -> builders.Inputs:
    case = Case("row", **{"layout": "BSND", "seq_lens": (length,), "n_kv": 1, "group": 1, **changes})
    return builders.build(case, seed)


@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize("coverage", [0.0, 0.8])
@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 513, 8193])
def test_any_length(backend: Backend, length: int, coverage: float, order: str) -> None:
    check(backend, row(length, seed=length, coverage=coverage, order=order))


@pytest.mark.parametrize("coverage", [0.0, 0.9])
def test_keys_beyond_shared_memory(backend: Backend, coverage: float) -> None:
    inputs = row(9000 * 8, seed=1, block_size=8, rank=8, coverage=coverage, max_blocks=8192)
    found, _ = check(backend, inputs)
    assert found.shape[-1] > 2048


@pytest.mark.cuda
@pytest.mark.parametrize("max_blocks", [1, 2047, 8192])
@pytest.mark.parametrize("order", ["index", "score"])
def test_any_number_of_kept_blocks(device: Backend, max_blocks: int, order: str) -> None:
    changes = {"keep_num": 1, "keep_den": 1, "max_blocks": max_blocks, "order": order, "rank": 8}
    check(device, row(8300 * 8, seed=max_blocks, block_size=8, **changes))


@pytest.mark.cuda
@pytest.mark.parametrize("coverage", [0.0, 0.9])
@pytest.mark.parametrize("rank", [8, 64])
def test_a_million_tokens(device: Backend, rank: int, coverage: float) -> None:
    check(device, row(2**20 + 3, seed=1, rank=rank, coverage=coverage, max_blocks=8192, tail_blocks=32))


@pytest.mark.parametrize("order", ["index", "score"])
@pytest.mark.parametrize("coverage", [0.0, 0.5, 1e-9, 1.0])
def test_equal_scores(backend: Backend, coverage: float, order: str) -> None:
    inputs = row(500 * 16, seed=3, coverage=coverage, order=order)
    inputs.index_cache[:] = inputs.index_cache[:, :1]
    inputs.index_scale[:] = 0.125
    check(backend, inputs)


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -float("inf"), 3e38])
def test_scales_that_are_not_finite(backend: Backend, scale: float) -> None:
    inputs = row(300 * 16, seed=5, keep_num=9, keep_den=10)
    inputs.index_scale[0, 5 * 16] = scale
    inputs.index_scale[0, 50 * 16 : 51 * 16] = scale
    call = operators.qsi_call(inputs)
    assert_same(backend.run("qsi", call), calls.run("qsi", call))


def test_rows_behind_the_last_ragged_request(backend: Backend) -> None:
    inputs = builders.build(Case("tail", query_layout="TND", query_lens=(2, 1, 0, 3)), seed=10)
    call = operators.qsi_call(inputs)
    for name in ("query", "query_scale"):
        call[name] = torch.cat([call[name], call[name][:3]])
    found = backend.run("qsi", call)
    assert_same(found, calls.run("qsi", call))
    assert found[0][6:].eq(-1).all()


def test_places_and_neighbours_change_nothing(backend: Backend) -> None:
    inputs = builders.build(LONG.but(s_q=2), seed=13)
    expected = backend.run("qsi", operators.qsi_call(inputs))
    assert_same(backend.run("qsi", operators.qsi_call(operators.permute_pages(inputs, seed=14))), expected)
    for request in range(inputs.case.batch):
        one = backend.run("qsi", operators.qsi_call(operators.request_slice(inputs, request)))
        assert_same(one, [each[request : request + 1] for each in expected])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strided_arguments(backend: Backend, layout: str) -> None:
    call = operators.qsi_call(builders.build(Case("strided", layout=layout, s_q=2), seed=16))
    expected = calls.run("qsi", call)
    moved = backend.move(call)
    for name in ("query", "query_scale", "seq_lens", "block_table"):
        if moved[name] is not None:
            wide = moved[name].unsqueeze(-1).repeat_interleave(3, -1)
            moved[name] = wide[..., 1]
    assert_same(backend.fetch(backend.ops.qsi(**moved)), expected)


def test_cache_at_any_address(backend: Backend) -> None:
    """Rows that do not begin at a multiple of 16 bytes are read word by word."""
    call = operators.qsi_call(builders.build(LONG, seed=17))
    moved = backend.move(call)
    cache = moved["key_cache"]
    room = torch.empty(cache.numel() + 1, dtype=cache.dtype, device=cache.device)
    moved["key_cache"] = room[1:].view(cache.shape).copy_(cache)
    assert_same(backend.fetch(backend.ops.qsi(**moved)), calls.run("qsi", call))


def test_lengths_and_pages_that_lead_outside(backend: Backend) -> None:
    """They are clamped: nothing outside is read, every row is written."""
    inputs = builders.build(Case("outside", seq_lens=(200, 77)), seed=18)
    call = operators.qsi_call(inputs)
    call["seq_lens"] = torch.tensor([1 << 30, -(1 << 31)], dtype=torch.int32)
    call["block_table"] = call["block_table"] + (1 << 20)
    ids, lens = backend.run("qsi", call)
    assert lens[0].eq(inputs.case.limit).logical_or(lens[0].gt(0)).all() and lens[1].eq(0).all()
    assert ids.lt(-(-inputs.case.limit // 16)).all() and ids[1].eq(-1).all()
