# SPDX-License-Identifier: Apache-2.0
"""Order between streams: launches do not wait, events order them, and a missing wait shows."""

from __future__ import annotations

import time

import pytest
import torch

import calls
import operators
import sals
from npu.npu_calls import on_npu
from sals import simulated_runtime
from sals.planning import _stream_of_plans


@pytest.fixture
def runtime():
    library = simulated_runtime.load("ascendcl")
    library.sals_npu_hold.argtypes = [simulated_runtime.ctypes.c_void_p]
    yield library
    library.sals_npu_release()
    torch.npu.synchronize()


def hold(runtime, *streams: torch.npu.Stream) -> None:
    """Keep what is put on the streams from now on waiting until `sals_npu_release`."""
    torch.npu.synchronize()
    for stream in streams:
        runtime.sals_npu_hold(stream.npu_stream)


def test_calls_do_not_wait(runtime) -> None:
    """All operators return while the stream is held, so none of them synchronises with the device."""
    moved = {
        op: on_npu(calls.BUILDERS[op]()) for op in ("qsi_plan", "sfaa_plan", "qsi", "sfaa", "write_cache")
    }
    moved["project_query"] = on_npu(calls.project_query(rank=64))
    stream = torch.npu.Stream()
    hold(runtime, stream)
    with torch.npu.stream(stream):
        results = {op: calls.run(op, call) for op, call in moved.items()}
        done = stream.record_event()
    time.sleep(0.1)
    assert not done.query()
    runtime.sals_npu_release()
    done.synchronize()
    assert torch.equal(results["qsi"][0].cpu(), calls.run("qsi", calls.qsi())[0])


@pytest.mark.parametrize("waits", (True, False), ids=("with-wait", "without-wait"))
def test_plan_on_a_second_stream(runtime, waits: bool) -> None:
    """The plan is made on a second stream; only a stream that waits for it reads it."""
    call = on_npu(calls.qsi_plan())
    plan = torch.zeros(512, dtype=torch.int32, device="npu")
    side, main = torch.npu.Stream(), torch.npu.Stream()
    hold(runtime, side)
    with torch.npu.stream(side):
        calls.run("qsi_plan.out", {**call, "plan": plan})
        made = side.record_event()
    with torch.npu.stream(main):
        if waits:
            main.wait_event(made)
        seen = plan.clone()
        copied = main.record_event()
    if waits:
        assert not copied.query()
        runtime.sals_npu_release()
    copied.synchronize()
    expected = calls.run("qsi_plan", calls.qsi_plan()) if waits else torch.zeros(512, dtype=torch.int32)
    assert torch.equal(seen.cpu(), expected)


def test_plan_async_runs_beside_the_step(runtime) -> None:
    """The plan comes after what the stream was given before, and not after what it is given later."""
    call = on_npu(calls.qsi_plan())
    main, other = torch.npu.Stream(), torch.npu.Stream()
    lens = torch.zeros_like(calls.qsi_plan()["seq_lens"]).npu()
    torch.npu.synchronize()
    with torch.npu.stream(main):
        lens.copy_(call["seq_lens"])
        pending = sals.plan_async(operators.ops.qsi_plan, **{**call, "seq_lens": lens})
    runtime.sals_npu_hold(main.npu_stream)
    with torch.npu.stream(other):
        plan = pending.wait().cpu()
    assert torch.equal(plan, calls.run("qsi_plan", calls.qsi_plan()))


def test_plan_async_comes_after_the_lengths(runtime) -> None:
    """Lengths that the current stream has yet to write are those that are planned for."""
    call = on_npu(calls.qsi_plan())
    lens = torch.zeros_like(call["seq_lens"])
    main = torch.npu.Stream()
    hold(runtime, main)
    with torch.npu.stream(main):
        lens.copy_(call["seq_lens"])
        pending = sals.plan_async(operators.ops.qsi_plan, **{**call, "seq_lens": lens})
    time.sleep(0.1)  # for a plan that does not wait
    runtime.sals_npu_release()
    assert torch.equal(pending.wait().cpu(), calls.run("qsi_plan", calls.qsi_plan()))


def test_plan_async_orders_who_reads_the_plan(runtime) -> None:
    """With the plan's own stream held, what comes after wait() waits, too; the host does not."""
    call = on_npu(calls.qsi_plan())
    side = _stream_of_plans(call["seq_lens"].device)
    hold(runtime, side)
    pending = sals.plan_async(operators.ops.qsi_plan, **call)
    seen = pending.wait().clone()
    copied = torch.npu.current_stream().record_event()
    time.sleep(0.1)
    assert not copied.query()
    runtime.sals_npu_release()
    assert torch.equal(seen.cpu(), calls.run("qsi_plan", calls.qsi_plan()))


def test_plan_async_into_a_buffer_that_is_still_read(runtime) -> None:
    """The plan of the next step waits for what still reads that of this one."""
    call = on_npu(calls.qsi_plan())
    plan = torch.zeros(512, dtype=torch.int32, device="npu")
    main = torch.npu.Stream()
    hold(runtime, main)
    with torch.npu.stream(main):
        seen = plan.clone()
        pending = sals.plan_async(operators.ops.qsi_plan.out, **call, plan=plan)
        after = pending.wait().clone()
    time.sleep(0.1)  # for a plan that does not wait
    runtime.sals_npu_release()
    main.synchronize()
    assert seen.cpu().eq(0).all()
    assert torch.equal(after.cpu(), calls.run("qsi_plan", calls.qsi_plan()))


def test_lengths_may_be_let_go(runtime) -> None:
    """Their memory goes to nobody else before the plan is made."""
    call = calls.qsi_plan()
    seq_lens = call.pop("seq_lens")
    lens = seq_lens.npu()
    hold(runtime, _stream_of_plans(lens.device))
    pending = sals.plan_async(operators.ops.qsi_plan, lens, **call)
    del lens
    others = [torch.zeros_like(seq_lens, device="npu") for _ in range(8)]
    torch.npu.current_stream().synchronize()
    runtime.sals_npu_release()
    assert torch.equal(pending.wait().cpu(), calls.run("qsi_plan", {"seq_lens": seq_lens, **call}))
    assert all(other.eq(0).all() for other in others)


def test_planned_step() -> None:
    """The whole step as it is meant: plans on a second stream, indexer and attention on the first."""
    qsi, sfaa = on_npu(calls.qsi()), on_npu(calls.sfaa())
    pending = [
        sals.plan_async(getattr(operators.ops, op), **on_npu({**calls.BUILDERS[op](), "num_cores": 0}))
        for op in ("qsi_plan", "sfaa_plan")
    ]
    block_ids, _ = calls.run("qsi", {**qsi, "plan": pending[0].wait()})
    out, _ = calls.run("sfaa", {**sfaa, "plan": pending[1].wait()})
    assert torch.equal(block_ids.cpu(), calls.run("qsi", calls.qsi())[0])
    unplanned, _ = calls.run("sfaa", sfaa)
    torch.testing.assert_close(out.cpu(), unplanned.cpu(), rtol=2 / 128, atol=1e-3)


def test_workspace_is_not_reused_too_early(runtime) -> None:
    """Workspaces freed while their kernels still wait serve only later work of the same stream."""
    call = on_npu(calls.qsi())
    expected = calls.run("qsi", call)[0].cpu()
    streams = [torch.npu.Stream() for _ in range(2)]
    hold(runtime, *streams)
    results = []
    for _ in range(2):
        for stream in streams:
            with torch.npu.stream(stream):
                results.append(calls.run("qsi", call)[0])
    runtime.sals_npu_release()
    torch.npu.synchronize()
    assert all(torch.equal(block_ids.cpu(), expected) for block_ids in results)
