# SPDX-License-Identifier: Apache-2.0
"""A decode step of all operators as one function, and its arguments."""

from __future__ import annotations

from collections.abc import Callable

import torch

from operators import ops
from sals.reference import layouts

N_KV, GROUP, HEAD_DIM, RANK, PAGE_SIZE, BLOCK_SIZE = 2, 4, 64, 64, 32, 16
SELECTION = {"block_size": BLOCK_SIZE, "keep_num": 1, "keep_den": 4, "sink_blocks": 1, "tail_blocks": 2}
SCALE = HEAD_DIM**-0.5


def make_plans(seq_lens: torch.Tensor, max_seq_len: int, num_cores: int) -> tuple:
    sizes = {"max_seq_len": max_seq_len, **SELECTION, "num_cores": num_cores}
    return ops.qsi_plan(seq_lens, n_idx=N_KV, **sizes), ops.sfaa_plan(
        seq_lens, n_kv=N_KV, group=GROUP, **sizes
    )


def write_and_project(query, key, value, projection, slots, caches) -> tuple:
    """The part of a step that needs no plan."""
    index_cache, index_scale, key_cache, value_cache, key_scale, value_scale = caches
    ops.write_cache(
        key, value, key, projection, slots, key_cache, value_cache, index_cache, index_scale, key_scale,
        value_scale,
    )  # fmt: skip
    return ops.project_query(query, projection, n_idx=N_KV, scale=SCALE)


def select_and_attend(
    index_query, query, caches, seq_lens, block_table, max_seq_len, plans, return_lse
) -> tuple:
    index_cache, index_scale, key_cache, value_cache, key_scale, value_scale = caches
    qsi_plan, sfaa_plan = plans
    block_ids, selected_lens = ops.qsi(
        *index_query, index_cache, index_scale, seq_lens, block_table=block_table, plan=qsi_plan,
        max_seq_len=max_seq_len, **SELECTION,
    )  # fmt: skip
    out, lse = ops.sfaa(
        query, key_cache, value_cache, key_scale, value_scale, block_ids, selected_lens, seq_lens,
        block_table=block_table, plan=sfaa_plan, scale=SCALE, block_size=BLOCK_SIZE, return_lse=return_lse,
    )  # fmt: skip
    return out * 2, lse, block_ids, selected_lens


def decode_step(planned: bool, return_lse: bool, num_cores: int = 4) -> Callable:
    """All operators of a step as one function; plans are for `num_cores`, 0: those of the device."""

    def step(query, key, value, projection, slots, caches, seq_lens, block_table, max_seq_len):
        index_query = write_and_project(query, key, value, projection, slots, caches)
        plans = make_plans(seq_lens, max_seq_len, num_cores) if planned else (None, None)
        return select_and_attend(
            index_query, query, caches, seq_lens, block_table, max_seq_len, plans, return_lse
        )

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


def on_npu(args: tuple) -> tuple:
    """The same call on the device, with caches of its own."""

    def move(arg):
        return arg.npu() if isinstance(arg, torch.Tensor) else arg

    return tuple([move(cache) for cache in arg] if isinstance(arg, list) else move(arg) for arg in args)


def copied(args: tuple) -> tuple:
    """The same call with caches of its own."""
    return tuple([tensor.clone() for tensor in arg] if isinstance(arg, list) else arg for arg in args)
