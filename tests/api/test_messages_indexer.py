# SPDX-License-Identifier: Apache-2.0
"""What qsi and block_scores say to arguments that break a rule."""

from __future__ import annotations

import pytest

from rules import KV_WORDS, TND, Rule, check_rule, double, extra_axis, longer, meta, strided, wider
from shared_rules import none_rules, page_rules, plan_rules, request_rules, selection_rules


def indexer_rules(op: str) -> list[Rule]:
    return [
        *request_rules(op, "query"),
        *page_rules(op),
        *none_rules(op, ("query", "query_scale", "key_cache", "key_scale", "seq_lens")),
        Rule(op, {"layout": "PA"}, f"layout must be one of {KV_WORDS}, got PA"),
        Rule(op, {"layout": ""}, f"layout must be one of {KV_WORDS}, got "),
        Rule(
            op,
            {"layout": "PA_KV"},
            "layout must be PA_BNSD, PA_BSND, PA_NZ or BSND for an index cache, got PA_KV",
        ),
        *(
            Rule(op, {name: meta}, f"{name} must be on the device of query (cpu), got meta")
            for name in ("query_scale", "key_cache", "key_scale")
        ),
        Rule(op, {"query": meta}, "seq_lens must be on the device of query (meta), got cpu"),
        Rule(op, {"query": lambda t: t.float()}, "query must have dtype int32, got float32"),
        Rule(op, {"query_scale": double}, "query_scale must have dtype float32, got Double"),
        Rule(op, {"key_cache": lambda t: t.char()}, "key_cache must have dtype int32, got int8"),
        Rule(op, {"key_scale": lambda t: t.half()}, "key_scale must have dtype float32, got float16"),
        Rule(
            op,
            {"query": extra_axis},
            "query must have shape [batch, s_q, n_idx, rank/8], got [1, 2, 1, 2, 8]",
        ),
        Rule(
            op, {"query": extra_axis}, "query must have shape [tokens, n_idx, rank/8], got [1, 3, 2, 8]", TND
        ),
        Rule(
            op,
            {"query_scale": extra_axis},
            "query_scale must have shape [batch, s_q, n_idx], got [1, 2, 1, 2]",
        ),
        Rule(
            op, {"query_scale": extra_axis}, "query_scale must have shape [tokens, n_idx], got [1, 3, 2]", TND
        ),
        *(
            Rule(
                op,
                {"key_cache": extra_axis},
                f"key_cache must have shape {axes}, got {got}",
                {"layout": layout},
            )
            for layout, axes, got in (
                ("PA_BNSD", "[pages, n_idx, page_size, rank/8]", "[1, 6, 2, 32, 8]"),
                ("PA_BSND", "[pages, page_size, n_idx, rank/8]", "[1, 6, 32, 2, 8]"),
                ("PA_NZ", "[pages, n_idx, rank/64, page_size, 8]", "[1, 6, 2, 1, 32, 8]"),
                ("BSND", "[batch, max_len, n_idx, rank/8]", "[1, 2, 70, 2, 8]"),
            )
        ),
        *(
            Rule(
                op,
                {"key_scale": extra_axis},
                f"key_scale must have shape {axes}, got {got}",
                {"layout": layout},
            )
            for layout, axes, got in (
                ("PA_BNSD", "[pages, heads, page_size]", "[1, 6, 2, 32]"),
                ("PA_BSND", "[pages, page_size, heads]", "[1, 6, 32, 2]"),
                ("PA_NZ", "[pages, heads, page_size]", "[1, 6, 2, 32]"),
                ("BSND", "[batch, max_len, heads]", "[1, 2, 70, 2]"),
            )
        ),
        Rule(
            op,
            {"query_scale": wider},
            "query_scale must have shape [batch, s_q, n_idx] = [2, 1, 2], got [2, 1, 3]",
        ),
        Rule(
            op,
            {"query_scale": wider},
            "query_scale must have shape [tokens, n_idx] = [3, 2], got [3, 3]",
            TND,
        ),
        Rule(
            op,
            {"query": lambda t: t[..., :0]},
            "query must have rank (last axis * 8) in 8, 16, ..., 256, got rank 0",
        ),
        Rule(
            op,
            {"query": lambda t: t.repeat(1, 1, 1, 5)[..., :33]},
            "query must have rank (last axis * 8) in 8, 16, ..., 256, got rank 264",
        ),
        Rule(
            op,
            {"query": wider},
            "query must have a rank that is a multiple of 64 with layout PA_NZ, got rank 72",
            {"layout": "PA_NZ"},
        ),
        Rule(
            op,
            {"query": wider},
            "key_cache must have shape [pages, n_idx, page_size, rank/8] = [6, 2, 32, 9], got [6, 2, 32, 8]",
        ),
        Rule(
            op,
            {"key_cache": lambda t: t[:, :1]},
            "key_cache must have shape [pages, n_idx, page_size, rank/8] = [6, 2, 32, 8], got [6, 1, 32, 8]",
        ),
        Rule(
            op,
            {"key_cache": wider},
            "key_cache must have shape [pages, n_idx, rank/64, page_size, 8] = [6, 2, 1, 32, 8], "
            "got [6, 2, 1, 32, 9]",
            {"layout": "PA_NZ"},
        ),
        Rule(
            op,
            {"key_scale": wider},
            "key_scale must have shape [pages, heads, page_size] = [6, 2, 32], got [6, 2, 33]",
        ),
        Rule(op, {"key_cache": strided}, "key_cache must be contiguous, got strided memory"),
        Rule(op, {"key_scale": strided}, "key_scale must be contiguous, got strided memory"),
        Rule(
            op,
            {"key_cache": longer, "key_scale": longer},
            "key_cache must have batch = 2 as its first axis, got [3, 70, 2, 8]",
            {"layout": "BSND"},
        ),
        Rule(op, {"max_seq_len": 69}, "seq_lens[0] must be at most max_seq_len = 69, got 70"),
        Rule(op, {"max_seq_len": 16}, "seq_lens[0] must be at most max_seq_len = 16, got 70"),
    ]


RULES = [
    *indexer_rules("qsi"),
    *selection_rules("qsi"),
    *plan_rules("qsi", "qsi_plan", 4),
    Rule("qsi", {"order": "id"}, "order must be one of index, score, got id"),
    *indexer_rules("block_scores"),
    *selection_rules("block_scores")[:7],
]


@pytest.mark.sanitize
@pytest.mark.parametrize("rule", RULES, ids=Rule.name)
def test_rule(rule):
    check_rule(rule)
