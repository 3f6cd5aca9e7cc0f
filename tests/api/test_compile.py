# SPDX-License-Identifier: Apache-2.0
"""One compiled decode step for every batch and length, with the results of the eager one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.fx.experimental._config
from torch._dynamo.testing import CompileCounterWithBackend

from decode_step import N_KV, SCALE, SELECTION, arguments, copied, decode_step
from operators import ops


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
