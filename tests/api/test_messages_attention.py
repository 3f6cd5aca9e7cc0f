# SPDX-License-Identifier: Apache-2.0
"""What sfaa says to arguments that break a rule."""

from __future__ import annotations

import pytest
import torch

from rules import KV_WORDS, TND, Rule, check_rule, double, extra_axis, longer, meta, strided, wider
from shared_rules import none_rules, page_rules, plan_rules, request_rules


def attention_rules(op: str = "sfaa") -> list[Rule]:
    return [
        *request_rules(op, "query"),
        *page_rules(op),
        *none_rules(op, ("query", "key_cache", "key_scale", "value_scale", "block_ids", "selected_lens")),
        *none_rules(op, ("seq_lens",)),
        *plan_rules(op, "sfaa_plan", 4),
        Rule(op, {"layout": "pa_nz"}, f"layout must be one of {KV_WORDS}, got pa_nz"),
        Rule(op, {"value_cache": None}, "value_cache must be given with layout PA_BNSD, got None"),
        Rule(
            op,
            {"value_cache": torch.zeros(1, dtype=torch.int8)},
            "value_cache must be None with layout PA_KV, got a tensor",
            {"layout": "PA_KV"},
        ),
        *(
            Rule(op, {name: meta}, f"{name} must be on the device of query (cpu), got meta")
            for name in ("key_cache", "value_cache", "key_scale", "value_scale", "block_ids", "selected_lens")
        ),
        Rule(op, {"query": double}, "query must have dtype float16 or bfloat16 or float32, got Double"),
        Rule(
            op,
            {"query": lambda t: t.int()},
            "query must have dtype float16 or bfloat16 or float32, got int32",
        ),
        Rule(op, {"key_cache": lambda t: t.byte()}, "key_cache must have dtype int8, got Byte"),
        Rule(op, {"value_cache": lambda t: t.bfloat16()}, "value_cache must have dtype int8, got bfloat16"),
        Rule(op, {"key_scale": double}, "key_scale must have dtype float32, got Double"),
        Rule(op, {"value_scale": double}, "value_scale must have dtype float32, got Double"),
        Rule(op, {"block_ids": lambda t: t.long()}, "block_ids must have dtype int32, got Long"),
        Rule(op, {"selected_lens": lambda t: t.long()}, "selected_lens must have dtype int32, got Long"),
        Rule(
            op,
            {"query": extra_axis},
            "query must have shape [batch, s_q, n_q, head_dim], got [1, 2, 1, 4, 64]",
        ),
        Rule(
            op, {"query": extra_axis}, "query must have shape [tokens, n_q, head_dim], got [1, 3, 4, 64]", TND
        ),
        *(
            Rule(
                op,
                {"key_cache": extra_axis},
                f"key_cache must have shape {axes}, got {got}",
                {"layout": layout},
            )
            for layout, axes, got in (
                ("PA_BNSD", "[pages, n_kv, page_size, head_dim]", "[1, 6, 2, 32, 64]"),
                ("PA_BSND", "[pages, page_size, n_kv, head_dim]", "[1, 6, 32, 2, 64]"),
                ("PA_NZ", "[pages, n_kv, head_dim/32, page_size, 32]", "[1, 6, 2, 2, 32, 32]"),
                ("PA_KV", "[pages, n_kv, 2, head_dim/32, page_size, 32]", "[1, 6, 2, 2, 2, 32, 32]"),
                ("BSND", "[batch, max_len, n_kv, head_dim]", "[1, 2, 70, 2, 64]"),
            )
        ),
        Rule(
            op,
            {"value_cache": extra_axis},
            "value_cache must have shape [pages, n_kv, page_size, head_dim], got [1, 6, 2, 32, 64]",
        ),
        Rule(
            op,
            {"block_ids": extra_axis},
            "block_ids must have shape [batch, s_q or 1, n_kv or 1, width], got [1, 2, 1, 2, 4]",
        ),
        Rule(
            op,
            {"block_ids": extra_axis},
            "block_ids must have shape [tokens, n_kv or 1, width], got [1, 3, 2, 4]",
            TND,
        ),
        Rule(
            op,
            {"selected_lens": extra_axis},
            "selected_lens must have shape [batch, s_q or 1, n_kv or 1], got [1, 2, 1, 2]",
        ),
        Rule(
            op,
            {"selected_lens": extra_axis},
            "selected_lens must have shape [tokens, n_kv or 1], got [1, 3, 2]",
            TND,
        ),
        *(
            Rule(
                op,
                {name: lambda t: t[0]},
                f"{name} must have shape [n_kv, head_dim] (static, per channel) or one scale per token and "
                "head, got [64]",
            )
            for name in ("key_scale", "value_scale")
        ),
        Rule(
            op,
            {"query": lambda t: t[..., :48]},
            "query must have head_dim 64, 80, 96, 128, 192 or 256, got 48",
        ),
        Rule(
            op,
            {"query": lambda t: t[:, :, :3]},
            "query must have n_q a positive multiple of n_kv = 2, got n_q 3",
        ),
        Rule(
            op,
            {"query": lambda t: t[:, :, :0]},
            "query must have n_q a positive multiple of n_kv = 2, got n_q 0",
        ),
        *(
            Rule(op, {"block_size": size}, f"block_size must be 8, 16, 32, 64 or 128, got {size}")
            for size in (0, -16, 24, 256)
        ),
        Rule(op, {"scale": float("nan")}, "scale must be finite in float32, got nan"),
        Rule(op, {"scale": float("-inf")}, "scale must be finite in float32, got -inf"),
        Rule(op, {"scale": 1e39}, "scale must be finite in float32, got 1e+39"),
        Rule(
            op,
            {"key_cache": wider},
            "key_cache must have shape [pages, n_kv, page_size, head_dim] = [6, 2, 32, 64], "
            "got [6, 2, 32, 65]",
        ),
        Rule(
            op,
            {"key_cache": lambda t: t[..., :16]},
            "key_cache must have shape [pages, n_kv, 2, head_dim/32, page_size, 32] = [6, 2, 2, 2, 32, 32], "
            "got [6, 2, 2, 2, 32, 16]",
            {"layout": "PA_KV"},
        ),
        Rule(
            op,
            {"key_cache": lambda t: t[:, :, :1].contiguous()},
            "key_cache must have shape [pages, n_kv, 2, head_dim/32, page_size, 32] = [6, 2, 2, 2, 32, 32], "
            "got [6, 2, 1, 2, 32, 32]",
            {"layout": "PA_KV"},
        ),
        Rule(
            op,
            {"value_cache": longer},
            "value_cache must have shape [pages, n_kv, page_size, head_dim] = [6, 2, 32, 64], "
            "got [7, 2, 32, 64]",
        ),
        Rule(op, {"key_cache": strided}, "key_cache must be contiguous, got strided memory"),
        Rule(op, {"value_cache": strided}, "value_cache must be contiguous, got strided memory"),
        Rule(
            op,
            {"value_scale": torch.ones(6, 2, 32)},
            "value_scale must be of the same kind as key_scale [2, 64], got [6, 2, 32]",
        ),
        Rule(op, {"key_scale": longer}, "key_scale must have shape [n_kv, head_dim] = [2, 64], got [3, 64]"),
        Rule(
            op, {"value_scale": wider}, "value_scale must have shape [n_kv, head_dim] = [2, 64], got [2, 65]"
        ),
        Rule(
            op,
            {"key_scale": wider},
            "key_scale must have shape [pages, heads, page_size] = [6, 2, 32], got [6, 2, 33]",
            {"static_scales": False},
        ),
        Rule(
            op,
            {"value_scale": wider},
            "value_scale must have shape [batch, max_len, heads] = [2, 70, 2], got [2, 70, 3]",
            {"static_scales": False, "layout": "BSND"},
        ),
        Rule(op, {"key_scale": strided}, "key_scale must be contiguous, got strided memory"),
        Rule(op, {"value_scale": strided}, "value_scale must be contiguous, got strided memory"),
        Rule(
            op,
            {"block_ids": longer},
            "block_ids must have shape [batch, s_q or 1, n_kv or 1, width] = [2, 1, 2, 4], got [3, 1, 2, 4]",
        ),
        Rule(
            op,
            {"block_ids": lambda t: t.repeat(1, 2, 1, 1)},
            "block_ids must have shape [batch, s_q or 1, n_kv or 1, width] = [2, 1, 2, 4], got [2, 2, 2, 4]",
        ),
        Rule(
            op,
            {"block_ids": lambda t: t.repeat(1, 1, 2, 1)},
            "block_ids must have shape [batch, s_q or 1, n_kv or 1, width] = [2, 1, 2, 4], got [2, 1, 4, 4]",
        ),
        Rule(
            op,
            {"selected_lens": wider},
            "selected_lens must have shape [batch, s_q or 1, n_kv or 1] = [2, 1, 2], got [2, 1, 3]",
        ),
        Rule(
            op,
            {"block_ids": longer},
            "block_ids must have shape [tokens, n_kv or 1, width] = [3, 2, 4], got [4, 2, 4]",
            TND,
        ),
        Rule(
            op,
            {"selected_lens": wider},
            "selected_lens must have shape [tokens, n_kv or 1] = [3, 2], got [3, 3]",
            TND,
        ),
        Rule(
            op,
            {"key_cache": longer, "value_cache": longer},
            "key_cache must have batch = 2 as its first axis, got [3, 70, 2, 64]",
            {"layout": "BSND"},
        ),
    ]


ID_RULES = [
    Rule(
        "sfaa",
        {"block_ids": lambda t, bad=bad: torch.full_like(t, bad)},
        "block_ids must be -1 or a block of its request: request 0 has blocks [0, 5), "
        f"got {bad} in list row 0",
    )
    for bad in (-2, 5, 2**31 - 1, -(2**31))
]


RULES = [*attention_rules(), *ID_RULES]


@pytest.mark.sanitize
@pytest.mark.parametrize("rule", RULES, ids=Rule.name)
def test_rule(rule):
    check_rule(rule)
