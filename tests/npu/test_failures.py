# SPDX-License-Identifier: Apache-2.0
"""What goes wrong says so. Each case has its own process: a failed stream stays failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu.npu_calls import expect, run_script


@pytest.mark.parametrize("mode", ("0", "1", "2"))
def test_task_queue_modes(mode: str) -> None:
    """The same results whether torch_npu launches itself, in its queue, or prepares in its queue too."""
    expect(
        """
        for op in ("qsi_plan", "sfaa_plan", "qsi", "write_cache"):
            call = calls.BUILDERS[op]()
            moved = on_npu(call)
            expected, found = calls.run(op, call), calls.run(op, moved)
            if expected is None:
                expected, found = call["key_cache"], moved["key_cache"]
            if isinstance(expected, tuple):
                expected, found = expected[0], found[0]
            assert torch.equal(found.cpu(), expected), op
        """,
        TASK_QUEUE_ENABLE=mode,
    )


@pytest.mark.parametrize("mode", ("0", "1"))
def test_failing_kernel(mode: str) -> None:
    done = run_script(
        """
        call = on_npu(calls.qsi())
        torch.npu.synchronize()
        runtime.sals_npu_fail_launch(1)
        calls.run("qsi", call)
        torch.npu.synchronize()
        """,
        TASK_QUEUE_ENABLE=mode,
    )
    assert done.returncode != 0
    assert "aclnnSalsQsi: the kernel failed, as the test asked" in done.stderr


def test_kernel_with_a_finding() -> None:
    """A finding of the simulator is a failure: here a plan that no planner made."""
    done = run_script(
        """
        plan = torch.zeros(512, dtype=torch.int32, device="npu")
        calls.run("qsi", {**on_npu(calls.qsi()), "plan": plan})
        torch.npu.synchronize()
        """,
        TASK_QUEUE_ENABLE="0",
    )
    assert done.returncode != 0
    assert "plan" in done.stderr and "op_kernel/" in done.stderr


def test_out_of_memory() -> None:
    """A workspace that does not fit raises torch's own error; afterwards the device still works."""
    expect(
        """
        call = on_npu(calls.qsi())
        rest = []
        for size in (1 << 24, 1 << 20, 1 << 16, 1 << 12, 512):
            while True:
                try:
                    rest.append(torch.empty(size, dtype=torch.uint8, device="npu"))
                except torch.OutOfMemoryError:
                    break
        try:
            calls.run("qsi", call)
            raise AssertionError("there was room for a workspace")
        except torch.OutOfMemoryError as error:
            print(error)
        del rest
        torch.npu.empty_cache()
        assert torch.equal(calls.run("qsi", call)[0].cpu(), calls.run("qsi", calls.qsi())[0])
        """,
        SALS_NPU_MEMORY="64",
    )


def test_host_access_to_device_memory_crashes() -> None:
    script = """
        import ctypes
        x = torch.ones(4, device="npu")
        torch.npu.synchronize()
        print(ctypes.c_float.from_address(x.data_ptr()).value)
        """
    assert run_script(script).returncode == -11  # SIGSEGV
    assert expect(script, SALS_NPU_PROTECT="0").split()[-1] == "1.0"


def test_operators_not_found() -> None:
    done = run_script(
        """
        import os
        os.environ["ASCEND_CUSTOM_OPP_PATH"] = "/nowhere"
        calls.run("qsi", on_npu(calls.qsi()))
        """
    )
    assert done.returncode != 0
    assert "found no library of its NPU operators" in done.stderr
    assert "/nowhere/op_api/lib/libcust_opapi.so" in done.stderr


def test_what_is_not_simulated_says_its_name() -> None:
    done = run_script("torch.sort(torch.ones(4, device='npu'))", TASK_QUEUE_ENABLE="0")
    assert done.returncode != 0
    assert "is not simulated" in done.stderr


def test_lengths_that_no_plan_can_have() -> None:
    """The AI CPU looks at the lengths, so its task fails."""
    done = run_script(
        """
        call = calls.qsi_plan()
        call["seq_lens"][0] = call["max_seq_len"] + 1
        calls.run("qsi_plan", on_npu(call))
        torch.npu.synchronize()
        """,
        TASK_QUEUE_ENABLE="0",
    )
    assert done.returncode != 0
    assert "seq_lens" in done.stderr


def test_trace(tmp_path: Path) -> None:
    """One line for every finished task: device, stream, task, failure."""
    trace = tmp_path / "trace"
    expect(
        """
        torch.npu.set_device("npu:1")
        calls.run("qsi_plan", on_npu(calls.qsi_plan(), "npu:1"))
        torch.npu.synchronize()
        """,
        SALS_NPU_TRACE=str(trace),
    )
    lines = [line.split("\t") for line in trace.read_text().splitlines()]
    assert ["1", "aclnnSalsQsiPlan", ""] in [[device, task, failure] for device, _, task, failure in lines]
