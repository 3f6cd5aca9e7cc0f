# SPDX-License-Identifier: Apache-2.0
"""torch_npu itself on the simulated runtime: what the operators' tests take for granted."""

from __future__ import annotations

import pytest
import torch

DTYPES = (torch.bool, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_round_trip(dtype: torch.dtype) -> None:
    values = torch.arange(37).remainder(2).to(dtype)
    assert torch.equal(values.npu().cpu(), values)


def test_devices() -> None:
    assert torch.npu.is_available() and torch.npu.device_count() == 2
    values = torch.arange(8.0)
    there = values.to("npu:0").to("npu:1")
    assert there.device == torch.device("npu:1")
    assert torch.equal(there.cpu(), values)
    properties = torch.npu.get_device_properties(0)
    assert properties.name == "Ascend910B3"
    assert properties.vector_core_num == 2 * properties.cube_core_num


def test_fresh_memory_is_not_zero() -> None:
    """Forgetting to fill a tensor must show."""
    torch.npu.empty_cache()
    assert torch.empty(1 << 22, dtype=torch.uint8, device="npu").cpu().eq(0xCD).all()


def test_arithmetic_of_torch_npu() -> None:
    x = torch.ones(6, device="npu")
    assert torch.equal(((x + x) * 3).cpu(), torch.full((6,), 6.0))
    assert torch.equal(
        torch.arange(6, device="npu").reshape(2, 3).t().contiguous().cpu(),
        torch.tensor([[0, 3], [1, 4], [2, 5]]),
    )
    assert torch.equal(x, x.clone()) and torch.allclose(x, x)


def test_copies_to_and_from_pinned_memory_do_not_wait() -> None:
    host = torch.arange(1000.0).pin_memory()
    assert host.is_pinned()
    device = host.to("npu", non_blocking=True)
    back = torch.empty(1000).pin_memory()
    back.copy_(device, non_blocking=True)
    torch.npu.current_stream().synchronize()
    assert torch.equal(back, host)


def test_events() -> None:
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.ones(1 << 20, device="npu").add_(1)
    end.record()
    end.synchronize()
    assert start.query() and end.query()
    assert start.elapsed_time(end) > 0


def test_out_of_memory() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"1024\.00 MiB total capacity"):
        torch.empty(2 << 30, dtype=torch.uint8, device="npu")
