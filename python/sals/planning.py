# SPDX-License-Identifier: Apache-2.0
"""Plans made beside the other work of a step: on an NPU on a stream of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["PendingPlan", "plan_async"]


class PendingPlan:
    """A plan that may still be in the making; `wait` gives it to the current stream."""

    def __init__(self, plan: Tensor, made: Any = None) -> None:
        self._plan = plan
        self._made = made

    def wait(self) -> Tensor:
        """Return the plan, for work on the current stream, which from here on comes after it.

        The host does not wait. May be called any number of times, on any stream.
        """
        if self._made is not None:
            current = torch.get_device_module(self._plan.device).current_stream(self._plan.device)
            current.wait_event(self._made)
            self._plan.record_stream(current)
        return self._plan


@functools.cache
def _stream_of_plans(device: torch.device) -> Any:
    return torch.get_device_module(device).Stream(device)


def plan_async(make_plan: Callable[..., Tensor], seq_lens: Tensor, **arguments: Any) -> PendingPlan:
    """Make a plan beside the work that follows.

    On a device the plan is made on a second stream, after what the current stream has been given so far and
    next to what it is given afterwards. On a CPU it is made at once.

    A plan depends on lengths only: make it once per step, and give it to every layer. A captured graph reads
    the buffer that it was captured with, so plan each step into the same one, with
    ``torch.ops.sals.qsi_plan.out`` and ``plan=buffer`` (or ``sfaa_plan.out``), and replay after ``wait()``.
    The next plan is written after all that the current stream was given before it, replays included.

    Parameters
    ----------
    make_plan : callable
        :func:`sals.plan_selection`, :func:`sals.plan_attention`, or a function like them, such as
        ``torch.ops.sals.qsi_plan.out``.
    seq_lens : Tensor[int32], shape (batch,)
        Their first argument. It must not change before the plan is made: give a copy if it is updated in
        place in the meantime.
    **arguments
        Their other arguments.

    Returns
    -------
    PendingPlan
        ``wait()`` returns the plan.

    Examples
    --------
    >>> import torch, sals
    >>> lens = torch.tensor([1000, 70], dtype=torch.int32)
    >>> pending = sals.plan_async(sals.plan_selection, lens, n_idx=8, max_seq_len=1024)
    >>> pending.wait().shape
    torch.Size([512])
    """
    if seq_lens.device.type == "cpu":
        return PendingPlan(make_plan(seq_lens, **arguments))
    module = torch.get_device_module(seq_lens.device)
    side = _stream_of_plans(seq_lens.device)
    side.wait_stream(module.current_stream(seq_lens.device))
    with module.stream(side):
        plan = make_plan(seq_lens, **arguments)
        made = side.record_event()
    for value in (seq_lens, *arguments.values()):
        if isinstance(value, Tensor):
            value.record_stream(side)
    return PendingPlan(plan, made)
