# SPDX-License-Identifier: Apache-2.0
"""What project_query and write_cache say to arguments that break a rule."""

from __future__ import annotations

import pytest
import torch

from rules import KV_WORDS, Rule, check_rule, double, extra_axis, ints, longer, meta, strided, wider
from shared_rules import none_rules

PROJECT = "project_query"
PROJECT_RULES = [
    Rule(PROJECT, {"projection": meta}, "projection must be on the device of query (cpu), got meta"),
    Rule(PROJECT, {"query": double}, "query must have dtype float16 or bfloat16 or float32, got Double"),
    Rule(PROJECT, {"projection": double}, "projection must have dtype float32, got Double"),
    Rule(PROJECT, {"projection": lambda t: t.half()}, "projection must have dtype float32, got float16"),
    Rule(
        PROJECT,
        {"query": extra_axis},
        "query must have shape [batch, s_q, n_q, head_dim] or [tokens, n_q, head_dim], got [1, 2, 1, 4, 64]",
    ),
    Rule(
        PROJECT,
        {"query": lambda t: t[0, 0]},
        "query must have shape [batch, s_q, n_q, head_dim] or [tokens, n_q, head_dim], got [4, 64]",
    ),
    Rule(
        PROJECT,
        {"projection": extra_axis},
        "projection must have shape [n_idx, in_dim, rank], got [1, 2, 64, 16]",
    ),
    Rule(PROJECT, {"n_idx": 0}, "n_idx must be in [1, 2147483647], got 0"),
    Rule(PROJECT, {"n_idx": 1 << 40}, "n_idx must be in [1, 2147483647], got 1099511627776"),
    Rule(PROJECT, {"scale": float("inf")}, "scale must be finite in float32, got inf"),
    Rule(PROJECT, {"scale": -1e300}, "scale must be finite in float32, got -1e+300"),
    Rule(
        PROJECT,
        {"query": lambda t: t[..., :63]},
        "query must have head_dim 64, 80, 96, 128, 192 or 256, got 63",
    ),
    Rule(
        PROJECT,
        {"n_idx": 1},
        "projection must have shape [n_idx, in_dim, rank] with n_idx = 1, got [2, 64, 16]",
    ),
    *(
        Rule(
            PROJECT,
            {"projection": torch.zeros(2, 64, rank)},
            f"projection must have rank (last axis) in 8, 16, ..., 256, got shape [2, 64, {rank}]",
        )
        for rank in (0, 12, 264)
    ),
    *(
        Rule(
            PROJECT,
            {"projection": torch.zeros(2, in_dim, 16)},
            "projection must have in_dim = head_dim = 64 (or, for one joint index head, a multiple of it), "
            f"got shape [2, {in_dim}, 16]",
        )
        for in_dim in (0, 63, 128)
    ),
    Rule(
        PROJECT,
        {"projection": torch.zeros(1, 96, 16)},
        "projection must have in_dim = head_dim = 64 (or, for one joint index head, a multiple of it), "
        "got shape [1, 96, 16]",
        {"n_idx": 1},
    ),
    Rule(PROJECT, {"projection": strided}, "projection must be contiguous, got strided memory"),
    Rule(
        PROJECT,
        {"query": lambda t: t[:, :, :3]},
        "query must have n_q a positive multiple of the projected KV heads = 2, got n_q 3",
    ),
    Rule(
        PROJECT,
        {"query": lambda t: t[:, :, :0]},
        "query must have n_q a positive multiple of the projected KV heads = 2, got n_q 0",
    ),
    Rule(
        PROJECT,
        {"projection": torch.zeros(1, 192, 16)},
        "query must have n_q a positive multiple of the projected KV heads = 3, got n_q 4",
        {"n_idx": 1},
    ),
]

WRITE = "write_cache"
STATIC = {"static_scales": True}
WRITE_TENSORS = (
    "value",
    "index_key",
    "projection",
    "slot_mapping",
    "key_cache",
    "value_cache",
    "index_cache",
    "index_scale",
    "key_scale",
    "value_scale",
)
WRITE_RULES = [
    Rule(WRITE, {"layout": "NZ"}, f"layout must be one of {KV_WORDS}, got NZ"),
    Rule(WRITE, {"value_cache": None}, "value_cache must be given with layout PA_BNSD, got None"),
    Rule(
        WRITE,
        {"value_cache": torch.zeros(1, dtype=torch.int8)},
        "value_cache must be None with layout PA_KV, got a tensor",
        {"layout": "PA_KV"},
    ),
    *(
        Rule(WRITE, {name: meta}, f"{name} must be on the device of key (cpu), got meta")
        for name in WRITE_TENSORS
    ),
    Rule(WRITE, {"key": double}, "key must have dtype float16 or bfloat16 or float32, got Double"),
    Rule(WRITE, {"value": lambda t: t.half()}, "value must have dtype bfloat16, got float16"),
    Rule(WRITE, {"index_key": lambda t: t.float()}, "index_key must have dtype bfloat16, got float32"),
    Rule(WRITE, {"slot_mapping": lambda t: t.long()}, "slot_mapping must have dtype int32, got Long"),
    Rule(WRITE, {"key_cache": lambda t: t.int()}, "key_cache must have dtype int8, got int32"),
    Rule(WRITE, {"value_cache": lambda t: t.int()}, "value_cache must have dtype int8, got int32"),
    Rule(WRITE, {"index_cache": lambda t: t.char()}, "index_cache must have dtype int32, got int8"),
    *(
        Rule(WRITE, {name: double}, f"{name} must have dtype float32, got Double")
        for name in ("projection", "index_scale", "key_scale", "value_scale")
    ),
    *(
        Rule(WRITE, {name: extra_axis}, f"{name} must have shape [tokens, n_kv, head_dim], got [1, 3, 2, 64]")
        for name in ("key", "value", "index_key")
    ),
    Rule(
        WRITE,
        {"projection": extra_axis},
        "projection must have shape [n_idx, in_dim, rank], got [1, 2, 64, 64]",
    ),
    Rule(WRITE, {"slot_mapping": extra_axis}, "slot_mapping must have shape [tokens], got [1, 3]"),
    *(
        Rule(
            WRITE,
            {name: extra_axis},
            f"{name} must have shape [pages, n_kv, page_size, head_dim], got [1, 4, 2, 16, 64]",
        )
        for name in ("key_cache", "value_cache")
    ),
    Rule(
        WRITE,
        {"index_cache": extra_axis},
        "index_cache must have shape [pages, n_idx, page_size, rank/8], got [1, 4, 2, 16, 8]",
    ),
    Rule(
        WRITE,
        {"index_scale": extra_axis},
        "index_scale must have shape [pages, heads, page_size], got [1, 4, 2, 16]",
    ),
    *(
        Rule(
            WRITE, {name: extra_axis}, f"{name} must have shape [pages, heads, page_size], got [1, 4, 2, 16]"
        )
        for name in ("key_scale", "value_scale")
    ),
    *(
        Rule(
            WRITE,
            {name: extra_axis},
            f"{name} must have shape [n_kv, head_dim] with static_scales, got [1, 2, 64]",
            STATIC,
        )
        for name in ("key_scale", "value_scale")
    ),
    Rule(
        WRITE,
        {name: (lambda t: t[..., :60]) for name in ("key", "value", "index_key")},
        "key must have head_dim 64, 80, 96, 128, 192 or 256, got 60",
    ),
    Rule(WRITE, {"key": lambda t: t[:, :0]}, "key must have n_kv > 0, got shape [3, 0, 64]"),
    *(
        Rule(
            WRITE,
            {name: longer},
            f"{name} must have shape [tokens, n_kv, head_dim] = [3, 2, 64], got [4, 2, 64]",
        )
        for name in ("value", "index_key")
    ),
    Rule(WRITE, {"slot_mapping": longer}, "slot_mapping must have shape [tokens] = [3], got [4]"),
    Rule(
        WRITE,
        {"projection": wider},
        "projection must have rank (last axis) in 8, 16, ..., 256, got shape [2, 64, 65]",
    ),
    Rule(
        WRITE,
        {"projection": lambda t: t[:, :63].contiguous()},
        "projection must have in_dim = head_dim = 64 (or, for one joint index head, a multiple of it), "
        "got shape [2, 63, 64]",
    ),
    Rule(WRITE, {"projection": strided}, "projection must be contiguous, got strided memory"),
    Rule(
        WRITE,
        {"projection": lambda t: t[:1]},
        "projection must cover all n_kv = 2 heads, got shape [1, 64, 64]",
    ),
    Rule(
        WRITE,
        {"key_cache": wider},
        "key_cache must have shape [pages, n_kv, page_size, head_dim] = [4, 2, 16, 64], got [4, 2, 16, 65]",
    ),
    Rule(
        WRITE,
        {"key_cache": lambda t: t[:, :1].contiguous()},
        "key_cache must have shape [pages, n_kv, page_size, head_dim] = [4, 2, 16, 64], got [4, 1, 16, 64]",
    ),
    Rule(
        WRITE,
        {"value_cache": longer},
        "value_cache must have shape [pages, n_kv, page_size, head_dim] = [4, 2, 16, 64], got [5, 2, 16, 64]",
    ),
    Rule(
        WRITE,
        {"index_cache": longer},
        "index_cache must have shape [pages, n_idx, page_size, rank/8] = [4, 2, 16, 8], got [5, 2, 16, 8]",
    ),
    Rule(
        WRITE,
        {"index_scale": wider},
        "index_scale must have shape [pages, heads, page_size] = [4, 2, 16], got [4, 2, 17]",
    ),
    Rule(
        WRITE,
        {"projection": lambda t: t[..., :8].contiguous(), "index_cache": lambda t: t},
        "index_cache must have shape [pages, n_idx, rank/64, page_size, 8] = [4, 2, 0, 16, 8], "
        "got [4, 2, 1, 16, 8]",
        {"layout": "PA_NZ"},
    ),
    *(
        Rule(
            WRITE,
            {name: wider},
            f"{name} must have shape [pages, heads, page_size] = [4, 2, 16], got [4, 2, 17]",
        )
        for name in ("key_scale", "value_scale")
    ),
    *(
        Rule(WRITE, {name: wider}, f"{name} must have shape [n_kv, head_dim] = [2, 64], got [2, 65]", STATIC)
        for name in ("key_scale", "value_scale")
    ),
    *(
        Rule(WRITE, {name: strided}, f"{name} must be contiguous, got strided memory")
        for name in ("key_cache", "value_cache", "index_cache", "index_scale", "key_scale", "value_scale")
    ),
    Rule(WRITE, {"slot_mapping": ints(0, 64, 1)}, "slot_mapping[1] must be -1 or a slot in [0, 64), got 64"),
    Rule(WRITE, {"slot_mapping": ints(0, 1, -2)}, "slot_mapping[2] must be -1 or a slot in [0, 64), got -2"),
]


RULES = [
    *PROJECT_RULES,
    *WRITE_RULES,
    *none_rules(PROJECT, ("query", "projection")),
    *none_rules(WRITE, ("key", *(name for name in WRITE_TENSORS if name != "value_cache"))),
]


@pytest.mark.sanitize
@pytest.mark.parametrize("rule", RULES, ids=Rule.name)
def test_rule(rule):
    check_rule(rule)
