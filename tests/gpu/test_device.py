# SPDX-License-Identifier: Apache-2.0
"""What only a device can show: graphs, streams, no waiting, plans, the same bits in every run."""

from __future__ import annotations

import pytest
import torch

import builders
import calls
import operators
from cases import Case
from gpu.backends import Backend
from gpu.test_qsi import LONG, assert_same

OPERATORS = ("qsi", "block_scores", "sfaa", "qsi_plan", "sfaa_plan", "project_query")


def on_device(device: Backend, op: str) -> calls.Call:
    return device.move(calls.BUILDERS[op]())


def results(found) -> tuple[torch.Tensor, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.cuda
@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("static_scales", [False, True])
def test_same_bits_in_twenty_runs(device: Backend, static_scales: bool, planned: bool) -> None:
    inputs = builders.build(LONG.but(static_scales=static_scales, head_dim=128), seed=40)
    qsi = device.move(operators.qsi_call(inputs))
    if planned:
        qsi["plan"] = operators.qsi_plan(inputs).to("cuda")
    lists = operators.ops.qsi(**qsi)
    sfaa = device.move(operators.sfaa_call(inputs, lists[0].cpu().numpy()))
    sfaa |= {"selected_lens": lists[1], "return_lse": True}
    if planned:
        sfaa["plan"] = operators.sfaa_plan(inputs).to("cuda")
    expected = operators.ops.sfaa(**sfaa)
    for _ in range(20):
        assert_same(operators.ops.qsi(**qsi), lists)
        assert_same(operators.ops.sfaa(**sfaa), expected)


@pytest.mark.cuda
@pytest.mark.parametrize("op", OPERATORS)
def test_nothing_waits(device: Backend, op: str) -> None:
    call = on_device(device, op)
    calls.run(op, call)
    torch.cuda.set_sync_debug_mode("error")
    try:
        calls.run(op, call)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def refill(call: calls.Call, new: calls.Call) -> None:
    for name, value in new.items():
        if isinstance(value, torch.Tensor):
            call[name].copy_(value)


CACHES = ("key_cache", "value_cache", "key_scale", "value_scale", "projection")


def other_values(op: str) -> calls.Call:
    """The same shapes with other values: requests in the other order."""
    call = calls.BUILDERS[op]()
    swapped = {n: v.flip(0) for n, v in call.items() if isinstance(v, torch.Tensor) and n not in CACHES}
    return {**call, **swapped}


@pytest.mark.cuda
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("op", OPERATORS)
def test_graph_reads_new_values(device: Backend, op: str, warm: bool) -> None:
    call = on_device(device, op)
    if warm:
        calls.run(op, call)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = results(calls.run(op, call))
    for values in (calls.BUILDERS[op], lambda: other_values(op)):
        refill(call, values())
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        assert_same(found, results(calls.run(op, device.move(values()))))


@pytest.mark.cuda
def test_long_step_in_a_graph_beside_other_streams(device: Backend) -> None:
    """Counters of a captured call are its own: replays run beside calls of other streams."""
    inputs = builders.build(LONG.but(head_dim=128), seed=41)
    qsi = device.move(operators.qsi_call(inputs))
    sfaa = device.move(operators.sfaa_call(inputs, operators.qsi(inputs)[0]))

    def step() -> torch.Tensor:
        ids, lens = operators.ops.qsi(**qsi)
        return operators.ops.sfaa(**{**sfaa, "block_ids": ids, "selected_lens": lens})[0]

    expected = step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    streams = [torch.cuda.Stream() for _ in range(3)]
    others = []
    torch.cuda.synchronize()
    for _ in range(20):
        graph.replay()
        for stream in streams:
            with torch.cuda.stream(stream):
                others.append(step())
    torch.cuda.synchronize()
    assert_same([captured, *others], [expected] * (1 + len(others)))


@pytest.mark.cuda
@pytest.mark.parametrize("op", ["qsi_plan", "sfaa_plan"])
@pytest.mark.parametrize("num_cores", [0, 7])
def test_plan_is_the_planners(device: Backend, op: str, num_cores: int) -> None:
    call = {**calls.BUILDERS[op](seq_lens=(3000, 77, 0, 900)), "num_cores": num_cores}
    cores = num_cores or min(torch.cuda.get_device_properties(0).multi_processor_count, 64)
    expected = calls.run(op, {**call, "num_cores": cores})
    for _ in range(3):
        assert torch.equal(device.run(op, call), expected)


@pytest.mark.cuda
def test_plan_of_lengths_that_break_the_rules_is_zero(device: Backend) -> None:
    call = calls.qsi_plan()
    call["seq_lens"] = call["seq_lens"] + (1 << 20)
    assert device.run("qsi_plan", call).eq(0).all()


@pytest.mark.cuda
@pytest.mark.parametrize("op", ["qsi", "sfaa", "qsi_plan", "sfaa_plan"])
def test_out_form(device: Backend, op: str) -> None:
    call = on_device(device, op)
    made = results(calls.run(op, call))
    names = {"qsi": ("block_ids", "selected_lens"), "sfaa": ("out", "lse")}.get(op, ("plan",))
    given = {name: torch.full_like(value, 7) for name, value in zip(names, made, strict=True)}
    calls.run(f"{op}.out", {**call, **given})
    assert_same(given.values(), made)


@pytest.mark.cuda
def test_messages_are_the_contracts(device: Backend) -> None:
    call = on_device(device, "sfaa")
    with pytest.raises(ValueError, match=r"seq_lens must be on the device of query \(cuda:0\), got cpu"):
        calls.run("sfaa", {**call, "seq_lens": call["seq_lens"].cpu()})
    with pytest.raises(ValueError, match=r"sals::sfaa: block_ids must have dtype int32, got Long"):
        calls.run("sfaa", {**call, "block_ids": call["block_ids"].long()})
    room = torch.empty(call["key_cache"].numel() + 1, dtype=torch.int8, device="cuda")
    with pytest.raises(ValueError, match="key_cache must begin at a multiple of 16 bytes on CUDA"):
        calls.run("sfaa", {**call, "key_cache": room[1:].view(call["key_cache"].shape)})
    plan = torch.zeros(3, dtype=torch.int32, device="cuda")
    with pytest.raises(ValueError, match=r"plan must have shape \[plan_words\] = \[512\], got \[3\]"):
        calls.run("sfaa", {**call, "plan": plan})


@pytest.mark.cuda
@pytest.mark.parametrize("op", OPERATORS)
def test_compiled(device: Backend, op: str) -> None:
    call = on_device(device, op)
    compiled = torch.compile(lambda c: getattr(operators.ops, op)(**c), backend="aot_eager", fullgraph=True)
    assert_same(results(compiled(call)), results(calls.run(op, call)))


@pytest.mark.cuda
def test_empty_batches(device: Backend) -> None:
    call = on_device(device, "sfaa")
    few = {n: call[n][:0] for n in ("query", "block_ids", "selected_lens", "seq_lens", "block_table")}
    assert calls.run("sfaa", {**call, **few})[0].shape[0] == 0
    inputs = builders.build(Case("padding", seq_lens=(0, -1, 0)), seed=42)
    assert device.run("qsi", operators.qsi_call(inputs))[0].eq(-1).all()
