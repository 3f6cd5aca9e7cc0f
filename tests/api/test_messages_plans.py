# SPDX-License-Identifier: Apache-2.0
"""What qsi_plan and sfaa_plan say to arguments that break a rule."""

from __future__ import annotations

import pytest

from rules import TND, Rule, check_rule, ints
from shared_rules import request_rules, selection_rules


def planner_rules(op: str) -> list[Rule]:
    heads = "n_idx" if op == "qsi_plan" else "n_kv"
    ranged = {heads: 65536, "s_q": 65536} | ({} if op == "qsi_plan" else {"group": 65536})
    return [
        *request_rules(op, "seq_lens"),
        *selection_rules(op),
        *(
            Rule(op, {name: value}, f"{name} must be in [1, {high}], got {value}")
            for name, high in ranged.items()
            for value in (0, -1, 65537, 1 << 62)
        ),
        Rule(op, {"num_cores": -1}, "num_cores must be in [0, 64], got -1"),
        Rule(op, {"num_cores": 65}, "num_cores must be in [0, 64], got 65"),
        Rule(op, {"seq_lens": ints(71, 3)}, "seq_lens[0] must be at most max_seq_len = 70, got 71"),
        Rule(op, {"query_lens": ints(3, 4)}, "query_lens[1] must be in [0, 3], got 4", {"s_q": 3}),
    ]


RULES = [
    *planner_rules("qsi_plan"),
    *planner_rules("sfaa_plan"),
    Rule(
        "sfaa_plan", {"shared_list": True}, "shared_list must be False with query_layout TND, got True", TND
    ),
]


@pytest.mark.sanitize
@pytest.mark.parametrize("rule", RULES, ids=Rule.name)
def test_rule(rule):
    check_rule(rule)
