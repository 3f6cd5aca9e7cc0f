# SPDX-License-Identifier: Apache-2.0
"""Rules that several operators share: lengths, pages, selection, the plan of a call."""

from __future__ import annotations

import torch

from rules import TND, Rule, double, extra_axis, ints, longer, meta, plan_with
from sals._contract import PLAN_MAGIC, QSI_TILE_TOKENS, SFAA_TILE_TOKENS


def request_rules(op: str, leader: str) -> list[Rule]:
    no_requests = {"seq_lens": lambda t: t[:0]}
    if leader == "query":
        no_requests["block_table"] = lambda t: t[:0]
    # The one row per request that the indexer gets may stand for any number of query tokens.
    most_tokens = 1 if op in ("sfaa", "sfaa_plan") else 2**31 - 1
    rules = [
        Rule(op, {"query_layout": "NTD"}, "query_layout must be one of BSND, TND, got NTD"),
        Rule(op, {"query_layout": "TND"}, "query_start_loc must be given with query_layout TND, got None"),
        Rule(
            op, {"query_lens": ints(1, 1)}, "query_lens must be None with query_layout TND, got a tensor", TND
        ),
        Rule(
            op,
            {"query_start_loc": ints(0, 1, 2)},
            "query_start_loc must be None with query_layout BSND, got a tensor",
        ),
        Rule(op, {"seq_lens": double}, "seq_lens must have dtype int32, got Double"),
        Rule(op, {"seq_lens": lambda t: t.float()}, "seq_lens must have dtype int32, got float32"),
        Rule(op, {"query_lens": torch.ones(2).long()}, "query_lens must have dtype int32, got Long"),
        Rule(
            op,
            {"query_start_loc": lambda t: t.long()},
            "query_start_loc must have dtype int32, got Long",
            TND,
        ),
        Rule(op, {"seq_lens": extra_axis}, "seq_lens must have shape [batch], got [1, 2]"),
        Rule(op, {"query_lens": ints(1, 1)[None]}, "query_lens must have shape [batch], got [1, 2]"),
        Rule(
            op,
            {"query_start_loc": extra_axis},
            "query_start_loc must have shape [batch + 1], got [1, 3]",
            TND,
        ),
        Rule(op, {"query_lens": ints(1, 1, 1)}, "query_lens must have shape [batch] = [2], got [3]"),
        Rule(
            op, {"query_start_loc": longer}, "query_start_loc must have shape [batch + 1] = [3], got [4]", TND
        ),
        Rule(op, {"query_lens": ints(1, -1)}, f"query_lens[1] must be in [0, {most_tokens}], got -1"),
        Rule(op, {"query_start_loc": ints(1, 2, 3)}, "query_start_loc[0] must be 0, got 1", TND),
        Rule(op, {**no_requests, "query_start_loc": ints(5)}, "query_start_loc[0] must be 0, got 5", TND),
    ]
    if leader != "seq_lens":
        on = f"must be on the device of {leader} (cpu), got meta"
        rules += [
            Rule(op, {"seq_lens": meta}, f"seq_lens {on}"),
            Rule(op, {"query_lens": ints(1, 1).to("meta")}, f"query_lens {on}"),
            Rule(op, {"query_start_loc": meta}, f"query_start_loc {on}", TND),
            Rule(op, {"seq_lens": longer}, "seq_lens must have shape [batch] = [2], got [3]"),
            Rule(
                op,
                {"query_start_loc": ints(0, 2, 4)},
                "query_start_loc[2] must be in [2, 3], got 4",
                TND,
            ),
            Rule(op, {"query_start_loc": ints(0, 2, 1)}, "query_start_loc[2] must be in [2, 3], got 1", TND),
            Rule(op, {"query_lens": ints(4, 1)}, "query_lens[0] must be in [0, 3], got 4", {"s_q": 3}),
        ]
    else:
        rules += [
            Rule(
                op,
                {"query_lens": ints(1, 1).to("meta")},
                f"query_lens must be on the device of {leader} (cpu), got meta",
            ),
        ]
    return rules


def plan_rules(op: str, planner: str, rows: int) -> list[Rule]:
    tile = {"qsi_plan": QSI_TILE_TOKENS, "sfaa_plan": SFAA_TILE_TOKENS}[planner]
    number = {"qsi_plan": 1, "sfaa_plan": 2}[planner]
    order = "plan must have core boundaries that ascend from the first row to the last"
    with_plan = {"plan": planner}
    return [
        Rule(op, {"plan": meta}, "plan must be on the device of query (cpu), got meta", with_plan),
        Rule(op, {"plan": lambda t: t.long()}, "plan must have dtype int32, got Long", with_plan),
        Rule(op, {"plan": extra_axis}, "plan must have shape [plan_words], got [1, 512]", with_plan),
        Rule(
            op, {"plan": lambda t: t[:-1]}, "plan must have shape [plan_words] = [512], got [511]", with_plan
        ),
        Rule(
            op, {"plan": plan_with(magic=7)}, f"plan must have the magic word {PLAN_MAGIC}, got 7", with_plan
        ),
        Rule(op, {"plan": plan_with(version=2)}, "plan must have version 1, got 2", with_plan),
        Rule(
            op,
            {"plan": plan_with(op=3 - number)},
            f"plan must have the op of {planner}, {number}, got {3 - number}",
            with_plan,
        ),
        Rule(
            op, {"plan": plan_with(tile_tokens=63)}, f"plan must have tile_tokens {tile}, got 63", with_plan
        ),
        Rule(
            op,
            {"plan": plan_with(num_rows=rows + 1)},
            f"plan must cover the {rows} list rows of the call, got a plan for {rows + 1}",
            with_plan,
        ),
        Rule(
            op,
            {"plan": plan_with(num_rows=rows - 1)},
            f"plan must cover the {rows} list rows of the call, got a plan for {rows - 1}",
            with_plan,
        ),
        Rule(op, {"plan": plan_with(num_cores=0)}, "plan num_cores must be in [1, 64], got 0", with_plan),
        Rule(op, {"plan": plan_with(num_cores=65)}, "plan num_cores must be in [1, 64], got 65", with_plan),
        *(
            Rule(op, {"plan": plan_with(**words)}, order, with_plan)
            for words in (
                {"row_begin": 1},
                {"tile_begin": 1},
                {"row_begin": -1},
                {"num_cores": 2},
                {"num_cores": 1},
            )
        ),
    ]


def selection_rules(op: str) -> list[Rule]:
    return [
        Rule(op, {"max_seq_len": -1}, "max_seq_len must be in [0, 16777216], got -1"),
        Rule(op, {"max_seq_len": 1 << 40}, "max_seq_len must be in [0, 16777216], got 1099511627776"),
        *(
            Rule(op, {"block_size": size}, f"block_size must be 8, 16, 32, 64 or 128, got {size}")
            for size in (0, -16, 4, 24, 256)
        ),
        Rule(op, {"keep_den": 0}, "keep_den must be in [1, 1048576], got 0"),
        Rule(op, {"keep_den": 1 << 21}, "keep_den must be in [1, 1048576], got 2097152"),
        Rule(op, {"keep_num": 3}, "keep_num must be in [0, 2], got 3"),
        Rule(op, {"keep_num": -1}, "keep_num must be in [0, 2], got -1"),
        Rule(op, {"max_blocks": 8193}, "max_blocks must be in [0, 8192], got 8193"),
        Rule(op, {"max_blocks": -1}, "max_blocks must be in [0, 8192], got -1"),
        Rule(op, {"min_blocks": 2049}, "min_blocks must be in [0, 2048], got 2049"),
        Rule(op, {"min_blocks": -1}, "min_blocks must be in [0, 2048], got -1"),
        Rule(op, {"sink_blocks": -1}, "sink_blocks must be in [0, 16777216], got -1"),
        Rule(op, {"tail_blocks": 0}, "tail_blocks must be in [1, 16777216], got 0"),
        Rule(op, {"coverage": -0.5}, "coverage must be a finite number >= 0, got -0.500000"),
        Rule(op, {"coverage": float("nan")}, "coverage must be a finite number >= 0, got nan"),
        Rule(op, {"coverage": float("inf")}, "coverage must be a finite number >= 0, got inf"),
    ]


def page_rules(op: str) -> list[Rule]:
    return [
        Rule(op, {"block_table": None}, "block_table must be given with layout PA_BNSD, got None"),
        Rule(
            op,
            {"block_table": ints(0, 0)[:, None]},
            "block_table must be None with layout BSND, got a tensor",
            {"layout": "BSND"},
        ),
        Rule(op, {"block_table": meta}, "block_table must be on the device of query (cpu), got meta"),
        Rule(op, {"block_table": lambda t: t.long()}, "block_table must have dtype int32, got Long"),
        Rule(
            op, {"block_table": extra_axis}, "block_table must have shape [batch, max_pages], got [1, 2, 3]"
        ),
        Rule(
            op,
            {"block_table": longer},
            "block_table must have shape [batch, max_pages] = [2, 3], got [3, 3]",
        ),
        Rule(
            op,
            {"block_size": 64},
            "key_cache must have a page_size that is a multiple of block_size = 64, got page_size 32",
        ),
        Rule(op, {"block_table": lambda t: t * 0 + 6}, "block_table[0][0] must be a page in [0, 6), got 6"),
        Rule(op, {"block_table": lambda t: t * 0 - 1}, "block_table[0][0] must be a page in [0, 6), got -1"),
        Rule(
            op,
            {"seq_lens": ints(97, 17), "max_seq_len": 200} if op != "sfaa" else {"seq_lens": ints(97, 17)},
            "seq_lens[0] must be at most the tokens that the cache of a request can hold = 96, got 97",
        ),
        Rule(
            op,
            {"seq_lens": ints(17, 2**31 - 1), "max_seq_len": 200}
            if op != "sfaa"
            else {"seq_lens": ints(17, 2**31 - 1)},
            "seq_lens[1] must be at most the tokens that the cache of a request can hold = 96, "
            "got 2147483647",
        ),
    ]


def none_rules(op: str, names: tuple[str, ...]) -> list[Rule]:
    """Python passes None for a required tensor."""
    return [Rule(op, {name: None}, f"{name} must be a tensor, got None") for name in names]
