# SPDX-License-Identifier: Apache-2.0
"""plan_async on CPU tensors: the plan itself, at once."""

from __future__ import annotations

import torch

import sals


def test_plan_on_cpu() -> None:
    lens = torch.tensor([1000, 70], dtype=torch.int32)
    arguments = {"n_idx": 2, "max_seq_len": 1024, "num_cores": 4}
    pending = sals.plan_async(sals.plan_selection, lens, **arguments)
    assert torch.equal(pending.wait(), sals.plan_selection(lens, **arguments))
    assert pending.wait() is pending.wait()
