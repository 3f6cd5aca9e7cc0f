# SPDX-License-Identifier: Apache-2.0
"""The operators captured in an NPUGraph: replays read new inputs, and a forked stream must be joined."""

from __future__ import annotations

import os

import pytest
import torch

import calls
import decode_step
import operators
import sals
from npu.npu_calls import expect, on_npu, run_script

pytestmark = pytest.mark.skipif(
    os.environ.get("TASK_QUEUE_ENABLE") == "2", reason="torch_npu captures no graph in task-queue mode 2"
)


PLANS = (
    (operators.ops.qsi_plan.out, {"n_idx": decode_step.N_KV}),
    (operators.ops.sfaa_plan.out, {"n_kv": decode_step.N_KV, "group": decode_step.GROUP}),
)


def refill(args: tuple, new: tuple) -> None:
    """Copy the arguments of another step, caches included, into the tensors that a graph reads."""
    for old, value in zip((*args[:5], *args[5], *args[6:8]), (*new[:5], *new[5], *new[6:8]), strict=True):
        old.copy_(value)


def test_step_with_plans_made_outside() -> None:
    """A whole step captured once. Each step plans on a second stream into the same buffers and replays."""
    first, *later = (decode_step.arguments(3, max_seq_len=300, seed=seed) for seed in (1, 2, 3))
    args, limit = decode_step.on_npu(first), first[8]
    plans = [torch.zeros(512, dtype=torch.int32, device="npu") for _ in range(2)]
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        index_query = decode_step.write_and_project(*args[:6])
        results = decode_step.select_and_attend(index_query, args[0], *args[5:8], limit, plans, True)
    for new in (first, *later):
        refill(args, new)
        pending = [
            sals.plan_async(
                make_plan, args[6], max_seq_len=limit, plan=plan, **shape, **decode_step.SELECTION
            )
            for (make_plan, shape), plan in zip(PLANS, plans, strict=True)
        ]
        for each, plan in zip(pending, plans, strict=True):
            assert each.wait() is plan
        graph.replay()
        assert_same(results, args, new)


def test_step_with_plans_beside_it() -> None:
    """Inside the graph, too, the plans may run beside the writing of the caches: fork and join by events."""
    first, *later = (decode_step.arguments(3, max_seq_len=300, seed=seed) for seed in (4, 5))
    args, limit = decode_step.on_npu(first), first[8]
    side, graph = torch.npu.Stream(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        begun = torch.npu.current_stream().record_event()
        with torch.npu.stream(side):
            side.wait_event(begun)
            plans = decode_step.make_plans(args[6], limit, num_cores=0)
            made = side.record_event()
        index_query = decode_step.write_and_project(*args[:6])
        torch.npu.current_stream().wait_event(made)
        results = decode_step.select_and_attend(index_query, args[0], *args[5:8], limit, plans, True)
    for new in (first, *later):
        refill(args, new)
        graph.replay()
        assert_same(results, args, new)


def assert_same(results: tuple, args: tuple, new: tuple) -> None:
    """Results and caches of a replay are those of a plain step."""
    expected_args = decode_step.on_npu(new)
    expected = decode_step.decode_step(True, return_lse=True, num_cores=0)(*expected_args)
    for value, other in zip((*results, *args[5]), (*expected, *expected_args[5]), strict=True):
        assert torch.equal(value.cpu(), other.cpu())
    on_cpu = decode_step.decode_step(True, return_lse=True)(*decode_step.copied(new))
    assert torch.equal(results[2].cpu(), on_cpu[2])


def test_capture_runs_nothing() -> None:
    call = on_npu(calls.qsi_plan())
    plan = torch.zeros(512, dtype=torch.int32, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        operators.ops.qsi_plan.out(**call, plan=plan)
    assert plan.cpu().eq(0).all()
    graph.replay()
    assert torch.equal(plan.cpu(), calls.run("qsi_plan", calls.qsi_plan()))


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
