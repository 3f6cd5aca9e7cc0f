# SPDX-License-Identifier: Apache-2.0
"""The operators on npu tensors: torch.ops.sals -> torch_npu -> tiling -> our kernel on the simulated chip."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import calls
import operators
import qsi_kernel
import sfaa_kernel
from builders import Inputs
from cases import Case
from npu.npu_calls import on_npu
from sals.cache import CacheSpec
from sals.reference.equivalence import QsiGolden


def plan_on_npu(inputs: Inputs, op: str) -> torch.Tensor:
    case = inputs.case
    s_list = 1 if case.shared_list else case.s_q
    shape = {
        "qsi_plan": {"n_idx": case.index_heads, "s_q": s_list},
        "sfaa_plan": {
            "n_kv": case.n_kv, "group": case.group, "s_q": case.s_q, "shared_list": case.shared_list
        },
    }[op]  # fmt: skip
    return calls.run(op, on_npu(operators.plan_args(inputs, **shape)))


@pytest.mark.parametrize("planned", (False, True), ids=("plain", "planned"))
@pytest.mark.parametrize("case", qsi_kernel.CASES, ids=lambda case: case.name)
def test_qsi(case: Case, planned: bool) -> None:
    inputs = qsi_kernel.inputs_of(case)
    plan = plan_on_npu(inputs, "qsi_plan") if planned else None
    block_ids, selected_lens = operators.ops.qsi(**{**on_npu(operators.qsi_call(inputs)), "plan": plan})
    assert block_ids.device.type == selected_lens.device.type == "npu"
    golden: QsiGolden = qsi_kernel.golden_of(case)
    golden.check(block_ids.cpu().numpy(), selected_lens.cpu().numpy())


@pytest.mark.parametrize("planned", (False, True), ids=("plain", "planned"))
@pytest.mark.parametrize("case", sfaa_kernel.CASES, ids=lambda case: case.name)
def test_sfaa(case: Case, planned: bool) -> None:
    inputs = sfaa_kernel.inputs_of(case)
    call = on_npu(operators.sfaa_call(inputs, sfaa_kernel.lists_of(case)))
    plan = plan_on_npu(inputs, "sfaa_plan") if planned else None
    out, lse = operators.ops.sfaa(**{**call, "plan": plan, "return_lse": True})
    assert out.device.type == lse.device.type == "npu"
    golden_out, golden_lse = sfaa_kernel.golden_of(case)
    sfaa_kernel.assert_output_close(operators.to_numpy(out.cpu()), golden_out, case.dtype)
    sfaa_kernel.assert_lse_close(lse.cpu().numpy(), golden_lse, sfaa_kernel.builders.largest_logit(inputs))


@pytest.mark.parametrize("op", ("qsi_plan", "sfaa_plan"))
@pytest.mark.parametrize("num_cores", (0, 7))
def test_plan_is_the_planners(op: str, num_cores: int) -> None:
    """Without a number of cores the plan is for those of the device, which torch_npu reports."""
    call = calls.BUILDERS[op](seq_lens=(3000, 77, 0, 900))
    plan = calls.run(op, on_npu({**call, "num_cores": num_cores}))
    cores = num_cores or torch.npu.get_device_properties(0).cube_core_num
    assert torch.equal(plan.cpu(), calls.run(op, {**call, "num_cores": cores}))


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float32"))
def test_project_query(dtype: str) -> None:
    call = calls.project_query(dtype=dtype, rank=64)
    for found, expected in zip(
        calls.run("project_query", on_npu(call)), calls.run("project_query", call), strict=True
    ):
        torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=0)


@pytest.mark.parametrize("layout", ("PA_BNSD", "PA_BSND", "PA_NZ", "PA_KV"))
def test_write_cache(layout: str) -> None:
    call = calls.write_cache(layout=layout)
    moved = on_npu(call)
    assert calls.run("write_cache", call) is calls.run("write_cache", moved) is None
    for name, value in call.items():
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(moved[name].cpu(), value, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("tokens", (1, 39, 130))
def test_write_cache_divides_tokens_over_all_vector_cores(tokens: int) -> None:
    """One tensor serves as keys and as what the index is made of, as after RoPE."""
    spec = CacheSpec("PA_BNSD", num_pages=2, page_size=128, n_kv=2, head_dim=64, n_idx=2, rank=64)
    generator = torch.Generator().manual_seed(74)
    key, value = torch.randn(2, tokens, 2, 64, generator=generator).half()
    projection, slots = (
        torch.eye(64).expand(2, -1, -1).contiguous(),
        torch.randperm(256, generator=generator)[:tokens].int(),
    )
    expected, found = spec.allocate("cpu"), spec.allocate("npu")
    expected.write(key, value, key, projection, slots)
    moved = key.npu()
    found.write(moved, value.npu(), moved, projection.npu(), slots.npu())
    for cache, other in zip(found.tensors(), expected.tensors(), strict=True):
        assert torch.equal(cache.cpu(), other)


@pytest.mark.parametrize("op", ("qsi", "sfaa", "qsi_plan", "sfaa_plan"))
def test_out_form(op: str) -> None:
    """The .out form writes the caller's tensors, with the bits of the other form."""
    call = on_npu(calls.BUILDERS[op]())
    made = calls.run(op, call)
    made = made if isinstance(made, tuple) else (made,)
    names = {"qsi": ("block_ids", "selected_lens"), "sfaa": ("out", "lse")}.get(op, ("plan",))
    if op == "sfaa":  # its input lists and its results have different names
        assert set(names).isdisjoint(call)
    given = {name: torch.full_like(value.cpu(), 7).npu() for name, value in zip(names, made, strict=True)}
    calls.run(f"{op}.out", {**call, **given})
    for name, value in zip(names, made, strict=True):
        assert torch.equal(given[name].cpu(), value.cpu()), name


def every_second(value: torch.Tensor) -> torch.Tensor:
    """The value on the device, in a view that leaves out every second element."""
    view = torch.empty((*value.shape, 2), dtype=value.dtype, device="npu")[..., 0]
    assert not view.is_contiguous()
    return view.copy_(value)


def test_strided_arguments() -> None:
    """Small tensors may be views; caches may not, which is a rule of the contract."""
    call = calls.qsi()
    views = {name: every_second(call[name]) for name in ("query", "query_scale", "seq_lens", "block_table")}
    found = calls.run("qsi", {**on_npu(call), **views})
    assert torch.equal(found[0].cpu(), calls.run("qsi", call)[0])
    with pytest.raises(ValueError, match="key_cache must be contiguous"):
        calls.run("qsi", {**on_npu(call), "key_cache": every_second(call["key_cache"])})


@pytest.mark.parametrize("op", ("qsi", "sfaa", "qsi_plan", "sfaa_plan", "project_query", "write_cache"))
def test_second_device(op: str) -> None:
    call = calls.project_query(rank=64) if op == "project_query" else calls.BUILDERS[op]()
    first, second = on_npu(call, "npu:0"), on_npu(call, "npu:1")
    results = [calls.run(op, moved) for moved in (first, second)]  # the current device is npu:0
    assert torch.npu.current_device() == 0
    if op == "write_cache":
        results = [[moved["key_cache"], moved["index_cache"]] for moved in (first, second)]
    expected, found = ([r] if isinstance(r, torch.Tensor) else r for r in results)
    for value, other in zip(found, expected, strict=True):
        assert value.device == torch.device("npu:1")
        assert torch.equal(value.cpu(), other.cpu())


def test_rules_of_the_device() -> None:
    with pytest.raises(ValueError, match="query must have rank 64, 128 or 256 on an NPU"):
        calls.run("qsi", on_npu(calls.qsi(rank=32)))
    with pytest.raises(ValueError, match="query must have dtype float16 or bfloat16 on an NPU"):
        calls.run("sfaa", on_npu(calls.sfaa(dtype="float32")))
    mixed = {**on_npu(calls.qsi()), "seq_lens": calls.qsi()["seq_lens"]}
    with pytest.raises(ValueError, match=r"seq_lens must be on the device of query \(npu:0\), got cpu"):
        calls.run("qsi", mixed)


@pytest.mark.parametrize("op", ("qsi_plan", "sfaa_plan"))
def test_lengths_that_a_plan_cannot_reach(op: str) -> None:
    """The other tensors are on the device, so the call gets there."""
    call = calls.BUILDERS[op]()
    plan = torch.zeros(512, dtype=torch.int32, device="npu")
    others = {op: {"query_lens": torch.ones_like(call["seq_lens"]).npu()}, f"{op}.out": {"plan": plan}}
    for form, other in others.items():
        with pytest.raises(ValueError, match=f"sals::{op}: seq_lens must be on the NPU"):
            calls.run(form, {**call, **other})


@pytest.mark.parametrize("op", ("qsi", "sfaa"))
def test_lengths_that_the_cpu_refuses_are_clamped(op: str) -> None:
    """No host looks at lengths. The kernel takes what max_seq_len (qsi) and the table allow."""
    call = on_npu(calls.BUILDERS[op]())
    pages, page_size = call["block_table"].shape[1], call["key_cache"].shape[2]
    most = min(call.get("max_seq_len", pages * page_size), pages * page_size)
    results = [
        calls.run(op, {**call, "seq_lens": torch.tensor(lens, dtype=torch.int32).npu()})
        for lens in ([most, 0], [2**31 - 1, -7])
    ]
    for value, expected in zip(*results, strict=True):
        assert torch.equal(value.cpu(), expected.cpu())


def test_same_bits_in_every_run() -> None:
    call = on_npu(calls.sfaa())
    first = calls.run("sfaa", call)
    for _ in range(3):
        for value, expected in zip(calls.run("sfaa", call), first, strict=True):
            np.testing.assert_array_equal(value.cpu().float().numpy(), expected.cpu().float().numpy())
