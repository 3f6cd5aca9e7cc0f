# SPDX-License-Identifier: Apache-2.0
"""What goes wrong says so. Each case has its own process: a failed stream stays failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu.npu_calls import MODES, expect, run_script


@pytest.mark.parametrize("mode", MODES)
def test_failures_on_the_device(mode: str) -> None:
    """What fails on a device is an error where its stream is synchronised, and that stream stays failed.

    Three kinds: a launch that fails, a finding of the simulator (here a plan that no planner made), and
    lengths that the AI CPU refuses. Other streams and the other device go on.
    """
    expect(
        """
        import pytest
        call, there = on_npu(calls.qsi()), on_npu(calls.qsi(), "npu:1")
        expected = calls.run("qsi", calls.qsi())[0]
        zeros = torch.zeros(512, dtype=torch.int32, device="npu")
        too_long = calls.qsi_plan()
        too_long["seq_lens"][0] = too_long["max_seq_len"] + 1
        too_long = on_npu(too_long)
        torch.npu.synchronize()

        def failing_launch():
            runtime.sals_npu_fail_launch(1)
            calls.run("qsi", call)

        failures = {
            failing_launch: "aclnnSalsQsi: the kernel failed, as the test asked",
            lambda: calls.run("qsi", {**call, "plan": zeros}): "op_kernel/.*the plan was made for other",
            lambda: calls.run("qsi_plan", too_long): "sals::qsi_plan: seq_lens.0. must be at most max",
        }
        for fail, sentence in failures.items():
            side = torch.npu.Stream()
            with torch.npu.stream(side):
                fail()
            for _ in range(2):
                with pytest.raises(RuntimeError, match=sentence):
                    side.synchronize()
            for inputs in (call, there):
                assert torch.equal(calls.run("qsi", inputs)[0].cpu(), expected)
            with torch.npu.stream(torch.npu.Stream()):
                assert torch.equal(calls.run("qsi", call)[0].cpu(), expected)
        """,
        TASK_QUEUE_ENABLE=mode,
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_launch_that_is_refused(mode: str) -> None:
    """The call raises if it launches itself, and the process goes on.

    From its queue torch_npu raises once and then runs nothing more on that device; our operators say so.
    """
    expect(
        f"""
        import pytest
        call, there = on_npu(calls.qsi()), on_npu(calls.qsi(), "npu:1")
        expected = calls.run("qsi", calls.qsi())[0]
        torch.npu.synchronize()
        runtime.sals_npu_refuse_launch(1)
        refused = "aclnnSalsQsi: the launch was refused, as the test asked"
        if {mode} == 0:
            with pytest.raises(RuntimeError, match=refused):
                calls.run("qsi", call)
            assert torch.equal(calls.run("qsi", call)[0].cpu(), expected)
        else:
            with pytest.raises(RuntimeError):
                calls.run("qsi", call)
                torch.npu.synchronize()
            for _ in range(2):
                with pytest.raises(RuntimeError, match=f"runs nothing more on npu:0 .*{{refused}}"):
                    calls.run("qsi", call)
        assert torch.equal(calls.run("qsi", there)[0].cpu(), expected)
        """,
        TASK_QUEUE_ENABLE=mode,
    )


def test_an_allocation_that_fails_once() -> None:
    """torch_npu gives its free memory back and tries again."""
    expect(
        """
        call = on_npu(calls.qsi())
        torch.npu.empty_cache()
        runtime.sals_npu_fail_allocation(1)
        large = torch.empty(1 << 25, dtype=torch.uint8, device="npu")
        assert torch.npu.memory_stats()["num_alloc_retries"] == 1
        assert torch.equal(calls.run("qsi", call)[0].cpu(), calls.run("qsi", calls.qsi())[0])
        """
    )


def test_out_of_memory() -> None:
    """A workspace that does not fit raises torch's own error; afterwards the process still works."""
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


def test_trace(tmp_path: Path) -> None:
    """One line for every finished task: device, stream, task, failure, function of the host sources."""
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
    assert ["1", "aclnnSalsQsiPlan", ""] in [[line[0], line[2], line[3]] for line in lines]
    assert all(len(line) == 5 for line in lines)
