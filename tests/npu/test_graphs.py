# SPDX-License-Identifier: Apache-2.0
"""The operators captured in an NPUGraph: replays read new inputs, and a forked stream must be joined."""

from __future__ import annotations

import os

import pytest
import torch

import calls
import operators
from npu.npu_calls import expect, on_npu, run_script

pytestmark = pytest.mark.skipif(
    os.environ.get("TASK_QUEUE_ENABLE") == "2", reason="torch_npu captures no graph in task-queue mode 2"
)


def refill(call: calls.Call, new: calls.Call) -> None:
    """Copy new values into the tensors that a graph reads."""
    for name, value in new.items():
        if isinstance(value, torch.Tensor):
            call[name].copy_(value)


CACHES = ("key_cache", "value_cache", "key_scale", "value_scale")


def other_values(op: str) -> calls.Call:
    """A call of the same shapes with other values: requests in the other order."""
    call = calls.BUILDERS[op]()
    swapped = {
        name: value.flip(0)
        for name, value in call.items()
        if isinstance(value, torch.Tensor) and name not in CACHES
    }
    return {**call, **swapped}


def test_step_in_a_graph() -> None:
    """Indexer and attention captured once; a replay after new inputs gives what a plain call gives."""
    qsi, sfaa = on_npu(calls.qsi()), on_npu(calls.sfaa())
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        block_ids, selected_lens = calls.run("qsi", qsi)
        out, _ = calls.run("sfaa", sfaa)
    for values in (lambda op: calls.BUILDERS[op](), other_values):
        refill(qsi, values("qsi"))
        refill(sfaa, values("sfaa"))
        graph.replay()
        expected_ids, expected_lens = calls.run("qsi", values("qsi"))
        expected_out, _ = calls.run("sfaa", on_npu(values("sfaa")))
        assert torch.equal(block_ids.cpu(), expected_ids)
        assert torch.equal(selected_lens.cpu(), expected_lens)
        assert torch.equal(out.cpu(), expected_out.cpu())


def test_capture_runs_nothing() -> None:
    call = on_npu(calls.qsi_plan())
    plan = torch.zeros(512, dtype=torch.int32, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        operators.ops.qsi_plan.out(**call, plan=plan)
    assert plan.cpu().eq(0).all()
    graph.replay()
    assert torch.equal(plan.cpu(), calls.run("qsi_plan", calls.qsi_plan()))


def test_graph_reads_a_plan_made_outside() -> None:
    """One plan per step in a persistent buffer, which the captured layers read."""
    call, plan_call = on_npu(calls.qsi()), on_npu(calls.qsi_plan())
    plan = calls.run("qsi_plan", {**plan_call, "num_cores": 0})
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        block_ids, _ = calls.run("qsi", {**call, "plan": plan})
    refill(call, other_values("qsi"))
    operators.ops.qsi_plan.out(**{**plan_call, "seq_lens": call["seq_lens"], "num_cores": 0}, plan=plan)
    graph.replay()
    assert torch.equal(block_ids.cpu(), calls.run("qsi", other_values("qsi"))[0])


FORK = """
    call = on_npu(calls.qsi_plan())
    side = torch.npu.Stream()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            plan = calls.run("qsi_plan", call)
        {join}
    graph.replay()
    assert torch.equal(plan.cpu(), calls.run("qsi_plan", calls.qsi_plan()))
    """


def test_forked_stream_that_is_joined() -> None:
    expect(FORK.format(join="torch.npu.current_stream().wait_stream(side)"))


def test_forked_stream_that_is_not_joined() -> None:
    done = run_script(FORK.format(join="pass"))
    assert done.returncode != 0
    assert "a stream that took part was not joined" in done.stderr


def test_waiting_for_an_event_from_outside() -> None:
    done = run_script(
        """
        call = on_npu(calls.qsi_plan())
        side = torch.npu.Stream()
        before = side.record_event()
        with torch.npu.graph(torch.npu.NPUGraph()):
            torch.npu.current_stream().wait_event(before)
        """
    )
    assert done.returncode != 0
    assert "must not wait for an event that was recorded outside the capture" in done.stderr


def test_synchronising_in_a_capture() -> None:
    done = run_script(
        """
        call = on_npu(calls.qsi())
        with torch.npu.graph(torch.npu.NPUGraph()):
            calls.run("qsi", call)[0].cpu()
        """
    )
    assert done.returncode != 0
    assert "must not be synchronised" in done.stderr
