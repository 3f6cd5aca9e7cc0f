# SPDX-License-Identifier: Apache-2.0
"""A small valid call of every operator, as arguments by name: the starting point of tests that spoil it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import builders
import operators
from cases import Case
from sals.reference import layouts

Call = dict[str, Any]
SMALL = Case("small", seq_lens=(70, 17), group=2, tail_blocks=1, keep_den=2)
TOKENS, PAGES = 3, 4  # of write_cache


def inputs(**changes: Any) -> builders.Inputs:
    return builders.build(SMALL.but(**changes), seed=70)


def ragged(**changes: Any) -> builders.Inputs:
    return inputs(query_layout="TND", query_lens=(2, 1), **changes)


def qsi(**changes: Any) -> Call:
    return operators.qsi_call(inputs(**changes))


def block_scores(**changes: Any) -> Call:
    return operators.scores_call(inputs(**changes))


def sfaa(**changes: Any) -> Call:
    built = inputs(**changes)
    call = operators.sfaa_call(built, operators.random_lists(built, np.random.default_rng(71), 4))
    return {**call, "return_lse": True}


def qsi_plan(**changes: Any) -> Call:
    built = inputs(**changes)
    return operators.plan_args(built, n_idx=built.case.index_heads, s_q=built.case.s_q, num_cores=4)


def sfaa_plan(**changes: Any) -> Call:
    case = (built := inputs(**changes)).case
    shape = {"n_kv": case.n_kv, "group": case.group, "s_q": case.s_q, "shared_list": case.shared_list}
    return operators.plan_args(built, **shape, num_cores=4)


def project_query(dtype: str = "bfloat16", n_idx: int = 2, head_dim: int = 64, rank: int = 16) -> Call:
    """Query [2, 1, 4, head_dim] over two KV heads, per head or (n_idx 1) joint."""
    generator = torch.Generator().manual_seed(72)
    in_dim = head_dim * 2 // n_idx
    return {
        "query": torch.randn(2, 1, 4, head_dim, generator=generator).to(operators.FLOATS[dtype]),
        "projection": torch.randn(n_idx, in_dim, rank, generator=generator),
        "n_idx": n_idx,
        "scale": 0.125,
    }


def write_cache(
    layout: str = "PA_BNSD",
    static_scales: bool = False,
    dtype: str = "bfloat16",
    n_idx: int = 2,
    head_dim: int = 64,
    rank: int = 64,
    page_size: int = 16,
) -> Call:
    """Three tokens of two KV heads into caches full of a marker."""
    generator = torch.Generator().manual_seed(73)
    index_layout = layouts.index_layout(layout)
    columns = int(head_dim if head_dim % 32 == 0 else 128)
    size = (PAGES, page_size)
    kv_shape = layouts.cache_shape(layout, *size, 2, columns, np.int8)
    token_scales = layouts.scale_shape(layout, *size, 2)
    index_shape = layouts.cache_shape(index_layout, *size, n_idx, rank // 8, np.int32)

    def tokens() -> torch.Tensor:
        return torch.randn(TOKENS, 2, head_dim, generator=generator).to(operators.FLOATS[dtype])

    def scales() -> torch.Tensor:
        if static_scales:
            return torch.rand(2, head_dim, generator=generator) / 32
        return torch.full(token_scales, 99.0)

    return {
        "key": tokens(),
        "value": tokens(),
        "index_key": tokens(),
        "projection": torch.randn(n_idx, head_dim * 2 // n_idx, rank, generator=generator),
        "slot_mapping": torch.tensor([5, -1, 40], dtype=torch.int32),
        "key_cache": torch.full(kv_shape, 99, dtype=torch.int8),
        "value_cache": None if layout == "PA_KV" else torch.full(kv_shape, 99, dtype=torch.int8),
        "index_cache": torch.full(index_shape, 99, dtype=torch.int32),
        "index_scale": torch.full(layouts.scale_shape(index_layout, *size, n_idx), 99.0),
        "key_scale": scales(),
        "value_scale": scales(),
        "layout": layout,
        "static_scales": static_scales,
    }


BUILDERS: dict[str, Callable[..., Call]] = {
    "qsi": qsi,
    "block_scores": block_scores,
    "sfaa": sfaa,
    "qsi_plan": qsi_plan,
    "sfaa_plan": sfaa_plan,
    "project_query": project_query,
    "write_cache": write_cache,
}


def run(op: str, call: Call) -> Any:
    """Call an operator, or its .out form, by name."""
    name, _, form = op.partition(".")
    return getattr(getattr(operators.ops, name), form or "default")(**call)
