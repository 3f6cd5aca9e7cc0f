# SPDX-License-Identifier: Apache-2.0
"""Rules that arguments obey: a valid call, the change that breaks the rule, and the sentence it earns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

import calls
from sals._contract import PLAN_FIELDS


@dataclass(frozen=True)
class Rule:
    """A valid call with some arguments replaced; a callable makes the new value from the old one."""

    op: str
    changes: dict[str, Any]
    sentence: str
    base: dict[str, Any] = field(default_factory=dict)

    def name(self) -> str:
        return f"{self.op}-{'-'.join(self.changes) or 'base'}-{self.sentence[:60]}"


def double(t: torch.Tensor) -> torch.Tensor:
    return t.double()


def meta(t: torch.Tensor) -> torch.Tensor:
    return t.to("meta")


def strided(t: torch.Tensor) -> torch.Tensor:
    return t.repeat_interleave(2, -1)[..., ::2]


def extra_axis(t: torch.Tensor) -> torch.Tensor:
    return t[None]


def longer(t: torch.Tensor) -> torch.Tensor:
    """One more element along the first axis."""
    return torch.cat([t, t[:1]])


def wider(t: torch.Tensor) -> torch.Tensor:
    """One more element along the last axis."""
    return torch.cat([t, t[..., :1]], dim=-1)


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def plan_with(**words: int):
    """Overwrite the first word of some fields of a plan."""

    def change(plan: torch.Tensor) -> torch.Tensor:
        plan = plan.clone()
        for name, value in words.items():
            plan[PLAN_FIELDS[name][0]] = value
        return plan

    return change


TND = {"query_layout": "TND", "query_lens": (2, 1)}
KV_WORDS = "BSND, PA_BSND, PA_BNSD, PA_NZ, PA_KV"


OUT_NAMES = {
    "qsi": ("block_ids", "selected_lens"),
    "sfaa": ("out", "lse"),
    "qsi_plan": ("plan",),
    "sfaa_plan": ("plan",),
}


def valid_call(op: str, base: dict[str, Any]) -> calls.Call:
    """Make the small call a rule starts from; `plan` in base names the operator that makes one."""
    name, _, form = op.partition(".")
    changes = {key: value for key, value in base.items() if key != "plan"}
    call = calls.BUILDERS[name](**changes)
    if "plan" in base:
        call["plan"] = calls.run(base["plan"], calls.BUILDERS[base["plan"]](**changes))
    if form:
        results = calls.run(name, call)
        results = (results,) if isinstance(results, torch.Tensor) else results
        call |= {key: result.clone() for key, result in zip(OUT_NAMES[name], results, strict=True)}
    return call


def check_rule(rule: Rule) -> None:
    """Run the spoilt call: it must raise ValueError with the whole sentence. Unspoilt, it must run."""
    calls.run(rule.op, valid_call(rule.op, rule.base))
    call = valid_call(rule.op, rule.base)
    for name, change in rule.changes.items():
        call[name] = change(call[name]) if callable(change) else change
    with pytest.raises(ValueError) as caught:
        calls.run(rule.op, call)
    assert type(caught.value) is ValueError
    assert str(caught.value) == f"sals::{rule.op.partition('.')[0]}: {rule.sentence}"
