# SPDX-License-Identifier: Apache-2.0
"""Four Python threads call the operators at once: two simulated devices, each thread with its own stream."""

from __future__ import annotations

import pytest

from npu.npu_calls import MODES, expect

ROUNDS = 4


@pytest.mark.parametrize("mode", MODES)
def test_four_threads(mode: str) -> None:
    """Every round gives the bits that one thread gets, plans on the streams of `sals.plan_async` included."""
    expect(
        f"""
        import threading
        from concurrent.futures import ThreadPoolExecutor

        RESULTS = ("key_cache", "value_cache", "index_cache", "key_scale", "value_scale", "index_scale")

        def step(device):
            # Fresh tensors, whose memory is another thread's of a moment ago.
            moved = {{name: on_npu(build, device) for name, build in built.items()}}
            plans = {{
                op: sals.plan_async(getattr(torch.ops.sals, op), **moved[op])
                for op in ("qsi_plan", "sfaa_plan")
            }}
            found = [plan.wait() for plan in plans.values()]
            found += calls.run("qsi", {{**moved["qsi"], "plan": found[0]}})
            found += calls.run("sfaa", {{**moved["sfaa"], "plan": found[1]}})
            found += calls.run("project_query", moved["project_query"])
            calls.run("write_cache", moved["write_cache"])
            found += [moved["write_cache"][name] for name in RESULTS]
            return [value.cpu() for value in found]

        def work(device):
            torch.npu.set_device(device)
            results = []
            with torch.npu.stream(torch.npu.Stream(device)):
                together.wait()
                for _ in range({ROUNDS}):
                    results.append(step(device))
            assert torch.npu.current_device() == torch.device(device).index
            return results

        built = {{op: build() for op, build in calls.BUILDERS.items() if op != "block_scores"}}
        built["project_query"] = calls.project_query(rank=64)
        for op in ("qsi_plan", "sfaa_plan"):
            built[op]["num_cores"] = 0  # those of the device, as the kernels expect
        expected = step("npu:0")
        on_cpu = calls.run("qsi", calls.qsi())[0]
        assert torch.equal(expected[2], on_cpu)
        together = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            for results in pool.map(work, ("npu:0", "npu:1", "npu:0", "npu:1")):
                assert len(results) == {ROUNDS}
                for found in results:
                    for number, (value, other) in enumerate(zip(found, expected, strict=True)):
                        assert torch.equal(value, other), number
        """,
        TASK_QUEUE_ENABLE=mode,
    )
