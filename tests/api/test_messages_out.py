# SPDX-License-Identifier: Apache-2.0
"""What the .out forms say to tensors that do not fit the result."""

from __future__ import annotations

import pytest

from rules import Rule, check_rule, double, longer, meta, strided, wider

OUT_RULES = [
    Rule("qsi.out", {"block_ids": None}, "block_ids must be a tensor, got None"),
    Rule("sfaa.out", {"lse": None}, "lse must be a tensor, got None"),
    Rule("qsi_plan.out", {"plan": None}, "plan must be a tensor, got None"),
    Rule("qsi.out", {"block_ids": lambda t: t.long()}, "block_ids must have dtype int32, got Long"),
    Rule(
        "qsi.out", {"selected_lens": lambda t: t.float()}, "selected_lens must have dtype int32, got float32"
    ),
    Rule(
        "qsi.out",
        {"block_ids": wider},
        "block_ids must have shape of the result = [2, 1, 2, 4], got [2, 1, 2, 5]",
    ),
    Rule(
        "qsi.out",
        {"selected_lens": longer},
        "selected_lens must have shape of the result = [2, 1, 2], got [3, 1, 2]",
    ),
    Rule("qsi.out", {"block_ids": strided}, "block_ids must be contiguous, got strided memory"),
    Rule("qsi.out", {"block_ids": meta}, "block_ids must be on the device of query (cpu), got meta"),
    Rule("sfaa.out", {"out": lambda t: t.float()}, "out must have dtype bfloat16, got float32"),
    Rule("sfaa.out", {"out": wider}, "out must have shape of the result = [2, 1, 4, 64], got [2, 1, 4, 65]"),
    Rule("sfaa.out", {"out": strided}, "out must be contiguous, got strided memory"),
    Rule("sfaa.out", {"lse": double}, "lse must have dtype float32, got Double"),
    Rule("sfaa.out", {"return_lse": False}, "lse must have shape of the result = [0], got [2, 1, 4]"),
    Rule("sfaa.out", {"lse": meta}, "lse must be on the device of query (cpu), got meta"),
    Rule("qsi_plan.out", {"plan": lambda t: t.long()}, "plan must have dtype int32, got Long"),
    Rule("qsi_plan.out", {"plan": wider}, "plan must have shape of the result = [512], got [513]"),
    Rule("sfaa_plan.out", {"plan": strided}, "plan must be contiguous, got strided memory"),
    Rule("sfaa_plan.out", {"plan": meta}, "plan must be on the device of seq_lens (cpu), got meta"),
]


RULES = OUT_RULES


@pytest.mark.sanitize
@pytest.mark.parametrize("rule", RULES, ids=Rule.name)
def test_rule(rule):
    check_rule(rule)
