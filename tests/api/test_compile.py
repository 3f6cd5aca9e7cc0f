# SPDX-License-Identifier: Apache-2.0
"""One compiled decode step for every batch and length, with the results of the eager one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.fx.experimental._config
from torch._dynamo.testing import CompileCounterWithBackend

from operators import ops
from sals.reference import layouts

N_KV, GROUP, HEAD_DIM, RANK, PAGE_SIZE, BLOCK_SIZE = 2, 4, 64, 64, 32, 16
SELECTION = {"block_size": BLOCK_SIZE, "keep_num": 1, "keep_den": 4, "sink_blocks": 1, "tail_blocks": 2}
SCALE = HEAD_DIM**-0.5


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    """Forget earlier graphs, and make every compile count.

    Sizes that happen to be equal in the first call are not taken for one. The softmax scale is a constant of
    the model: torch would first try it as a symbol, then start the same compile over.
    """
    torch._dynamo.reset()
    constants = torch._dynamo.config.patch(specialize_float=True, error_on_recompile=True)
    with torch.fx.experimental._config.patch(use_duck_shape=False), constants:
        yield


def decode_step(planned: bool, return_lse: bool) -> Callable:
    def step(query, key, value, projection, slots, caches, seq_lens, block_table, max_seq_len):
        index_cache, index_scale, key_cache, value_cache, key_scale, value_scale = caches
        ops.write_cache(
            key, value, key, projection, slots, key_cache, value_cache, index_cache, index_scale, key_scale,
            value_scale,
        )  # fmt: skip
        packed, query_scale = ops.project_query(query, projection, n_idx=N_KV, scale=SCALE)
        qsi_plan = sfaa_plan = None
        if planned:
            sizes = {"max_seq_len": max_seq_len, **SELECTION, "num_cores": 4}
            qsi_plan = ops.qsi_plan(seq_lens, n_idx=N_KV, **sizes)
            sfaa_plan = ops.sfaa_plan(seq_lens, n_kv=N_KV, group=GROUP, **sizes)
        block_ids, selected_lens = ops.qsi(
            packed, query_scale, index_cache, index_scale, seq_lens, block_table=block_table, plan=qsi_plan,
            max_seq_len=max_seq_len, **SELECTION,
        )  # fmt: skip
        out, lse = ops.sfaa(
            query, key_cache, value_cache, key_scale, value_scale, block_ids, selected_lens, seq_lens,
            block_table=block_table, plan=sfaa_plan, scale=SCALE, block_size=BLOCK_SIZE,
            return_lse=return_lse,
        )  # fmt: skip
        return out * 2, lse, block_ids, selected_lens

    return step


def arguments(batch: int, max_seq_len: int, seed: int) -> tuple:
    """A decode step of `batch` requests, the longest of max_seq_len tokens, on random caches."""
    generator = torch.Generator().manual_seed(seed)
    max_pages = -(-max_seq_len // PAGE_SIZE)
    pages = batch * max_pages

    def bytes_like(layout_shape: tuple, dtype: torch.dtype) -> torch.Tensor:
        return torch.randint(-127, 128, layout_shape, generator=generator, dtype=torch.int32).to(dtype)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).bfloat16()

    kv_shape = layouts.cache_shape("PA_BNSD", pages, PAGE_SIZE, N_KV, HEAD_DIM, "int8")
    index_shape = layouts.cache_shape("PA_BNSD", pages, PAGE_SIZE, N_KV, RANK // 8, "int32")
    scale_shape = layouts.scale_shape("PA_BNSD", pages, PAGE_SIZE, N_KV)
    words = bytes_like(index_shape, torch.int32) * 0x1234567
    scales = [torch.rand(*scale_shape, generator=generator) / 64 for _ in range(3)]
    caches = [words, scales[0], *(bytes_like(kv_shape, torch.int8) for _ in range(2)), *scales[1:]]
    lens = torch.randint(1, max_seq_len + 1, (batch,), generator=generator, dtype=torch.int32)
    lens[0] = max_seq_len
    table = torch.randperm(pages, generator=generator).int().reshape(batch, max_pages)
    newest = lens.long() - 1
    slots = table[torch.arange(batch), newest // PAGE_SIZE] * PAGE_SIZE + newest % PAGE_SIZE
    projection = torch.randn(N_KV, HEAD_DIM, RANK, generator=generator)
    tokens = [normal(batch, N_KV, HEAD_DIM) for _ in range(2)]
    return (
        normal(batch, 1, N_KV * GROUP, HEAD_DIM), *tokens, projection, slots.int(), caches, lens, table,
        max_seq_len,
    )  # fmt: skip


def copied(args: tuple) -> tuple:
    return tuple([tensor.clone() for tensor in arg] if isinstance(arg, list) else arg for arg in args)


@pytest.mark.parametrize("planned", [False, True], ids=["no-plan", "planned"])
@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
def test_one_compile_serves_every_batch_and_length(backend, planned):
    counter = CompileCounterWithBackend(backend)
    step = decode_step(planned, return_lse=True)
    compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=counter)
    for batch in range(2, 14):
        args = arguments(batch, max_seq_len=100 + 37 * batch, seed=batch)
        eager_args, compiled_args = copied(args), copied(args)
        expected, found = step(*eager_args), compiled(*compiled_args)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)
        for a, b in zip(compiled_args[5], eager_args[5], strict=True):
            assert torch.equal(a, b)
    assert counter.frame_count == 1


def test_one_compile_serves_growing_lengths_of_one_batch():
    """A request that decodes token by token: only max_seq_len and the lengths change."""
    counter = CompileCounterWithBackend("aot_eager")
    step = decode_step(planned=True, return_lse=False)
    compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=counter)
    args = arguments(3, max_seq_len=2000, seed=1)
    for length in range(1600, 2000, 33):
        lens = torch.tensor([length, 7, length // 2], dtype=torch.int32)
        slots = torch.full((3,), -1, dtype=torch.int32)
        call = (*args[:4], slots, args[5], lens, args[7], length)
        for a, b in zip(compiled(*copied(call)), step(*copied(call)), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)
    assert counter.frame_count == 1


def test_ragged_queries_compile_once():
    """TND: the number of tokens changes with every step."""
    counter = CompileCounterWithBackend("aot_eager")

    def step(packed, query_scale, cache, scale, seq_lens, start, table, max_seq_len):
        return ops.qsi(
            packed, query_scale, cache, scale, seq_lens, query_start_loc=start, block_table=table,
            max_seq_len=max_seq_len, query_layout="TND", **SELECTION,
        )  # fmt: skip

    compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=counter)
    for batch in range(2, 14):
        args = arguments(batch, max_seq_len=300 + batch, seed=batch)
        spans = torch.arange(batch) % 3 + 1
        start = torch.cat([torch.zeros(1), spans.cumsum(0)]).int()
        query = args[0][:, 0].repeat_interleave(spans, 0)
        packed, query_scale = ops.project_query(query, args[3], n_idx=N_KV, scale=SCALE)
        call = (packed, query_scale, *args[5][:2], args[6], start, args[7], args[8])
        for a, b in zip(compiled(*call), step(*call), strict=True):
            assert torch.equal(a, b)
    assert counter.frame_count == 1
