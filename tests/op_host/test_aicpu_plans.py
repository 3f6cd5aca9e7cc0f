# SPDX-License-Identifier: Apache-2.0
"""Plans made by the AI CPU kernels are the library's, byte for byte.

The kernels are compiled against stand-ins for the AI CPU SDK's headers (``simulator/cann/aicpu``);
`sals check-cann` compiles the same sources against the real ones.
"""

import ctypes
import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import sals  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
TYPES = {"qsi_plan": b"SalsQsiPlan", "sfaa_plan": b"SalsSfaaPlan"}
PLAN_WORDS = 512
TENSORS = ("seq_lens", "query_lens", "query_start_loc")

Run = Callable[..., tuple[int, torch.Tensor, str]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    target = tmp_path_factory.mktemp("aicpu") / "libtasks.so"
    folders = ("aicpu_tiling", "aicpu_tiling/planner", "aicpu_tiling/aicpu")
    sources = [str(path) for folder in folders for path in sorted((ROOT / folder).glob("*.cpp"))]
    sources.append(str(ROOT / "tests/op_host/native/run_task.cpp"))
    include = [f"-I{ROOT / folder}" for folder in ("include", "aicpu_tiling", "simulator/cann/aicpu")]
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    subprocess.run(["c++", *flags, *include, *sources, "-o", str(target)], check=True)
    tasks = ctypes.CDLL(str(target))
    tasks.task_new.restype = ctypes.c_void_p
    tasks.task_log.restype = ctypes.c_char_p
    return tasks


def add(put: Any, task: ctypes.c_void_p, tensor: torch.Tensor | None) -> None:
    """Put a tensor into a task; None becomes one without data, as a runtime may pass what was left out."""
    sizes = [0] if tensor is None else list(tensor.shape)
    data = 0 if tensor is None else tensor.data_ptr()
    put(task, ctypes.c_void_p(data), (ctypes.c_int64 * len(sizes))(*sizes), ctypes.c_int64(len(sizes)))


def attributes_of(op: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """All arguments that are no tensors, given or by default, as the aclnn function passes them."""
    schema = getattr(torch.ops.sals, op).default._schema
    rest = [a for a in schema.arguments if a.name not in TENSORS]
    return {a.name: arguments.get(a.name, a.default_value) for a in rest}


@pytest.fixture(params=["left out", "without data"])
def run(library: ctypes.CDLL, request: pytest.FixtureRequest) -> Run:
    """Run a plan's task; inputs that a call leaves out are missing from it or have no data."""
    absent_is_missing = request.param == "left out"

    def run_task(op: str, **arguments: Any) -> tuple[int, torch.Tensor, str]:
        task = ctypes.c_void_p(library.task_new())
        for name in TENSORS:
            tensor = arguments.get(name)
            if tensor is not None or not absent_is_missing:
                add(library.task_input, task, tensor)
        plan = torch.full((arguments.pop("plan_words", PLAN_WORDS),), -7, dtype=torch.int32)
        add(library.task_output, task, plan)
        for name, value in attributes_of(op, arguments).items():
            if isinstance(value, str):
                library.task_text(task, name.encode(), value.encode())
            elif isinstance(value, bool):
                library.task_bool(task, name.encode(), ctypes.c_bool(value))
            elif isinstance(value, float):
                library.task_float(task, name.encode(), ctypes.c_float(value))
            else:
                library.task_int(task, name.encode(), ctypes.c_int64(value))
        status = library.task_run(task, TYPES[op])
        log = library.task_log(task).decode()
        library.task_free(task)
        return status, plan, log

    return run_task


def int32(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


LENGTHS = int32(0, 1, 300, 5000, 8192)
OF_24 = {"max_seq_len": 8192, "num_cores": 24}
CASES = [
    ("qsi_plan", {"seq_lens": LENGTHS, "n_idx": 2, **OF_24}),
    (
        "qsi_plan",
        {"seq_lens": LENGTHS, "n_idx": 8, "s_q": 3, "query_lens": int32(0, 1, 2, 3, 3), **OF_24},
    ),
    (
        "qsi_plan",
        {
            "seq_lens": LENGTHS,
            "query_start_loc": int32(0, 0, 1, 4, 4, 9),
            "n_idx": 1,
            "query_layout": "TND",
            **OF_24,
        },
    ),
    ("sfaa_plan", {"seq_lens": LENGTHS, "n_kv": 2, "group": 4, **OF_24}),
    ("sfaa_plan", {"seq_lens": LENGTHS, "n_kv": 1, "group": 8, "s_q": 4, "shared_list": True, **OF_24}),
    (
        "sfaa_plan",
        {"seq_lens": LENGTHS, "n_kv": 2, "group": 1, "coverage": 0.9, "max_blocks": 64, **OF_24},
    ),
    (
        "sfaa_plan",
        {
            "seq_lens": LENGTHS,
            "query_start_loc": int32(0, 0, 1, 4, 4, 9),
            "n_kv": 4,
            "group": 2,
            "query_layout": "TND",
            **OF_24,
        },
    ),
]


@pytest.mark.parametrize(("op", "arguments"), CASES)
def test_a_task_makes_the_plan_of_the_library(run: Run, op: str, arguments: dict[str, Any]) -> None:
    status, plan, log = run(op, **arguments)
    assert (status, log) == (0, "")
    assert torch.equal(plan, getattr(torch.ops.sals, op)(**arguments))


def test_random_calls(run: Run) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(30):
        batch = rng.randint(0, 40)
        arguments: dict[str, Any] = {
            "seq_lens": int32(*(rng.randint(0, 20000) for _ in range(batch))),
            "max_seq_len": 20000,
            "block_size": rng.choice((8, 16, 128)),
            "keep_num": rng.randint(0, 4),
            "sink_blocks": rng.randint(0, 3),
            "num_cores": rng.randint(1, 64),
            "s_q": rng.randint(1, 4),
        }
        op = rng.choice(("qsi_plan", "sfaa_plan"))
        heads = rng.randint(1, 8)
        arguments |= {"n_idx": heads} if op == "qsi_plan" else {"n_kv": heads, "group": rng.randint(1, 8)}
        status, plan, log = run(op, **arguments)
        assert (status, log) == (0, ""), arguments
        assert torch.equal(plan, getattr(torch.ops.sals, op)(**arguments)), arguments


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"num_cores": 0}, "sals::qsi_plan: num_cores of an AI CPU task must be in [1, 64], got 0"),
        ({"plan_words": 8}, "sals::qsi_plan: plan must have 512 words"),
        ({"max_seq_len": 100}, "sals::qsi_plan: seq_lens[2] must be at most max_seq_len = 100, got 300"),
        ({"query_layout": "BNSD"}, "sals::qsi_plan: query_layout must be one of BSND, TND, got BNSD"),
    ],
)
def test_a_task_that_cannot_be_planned_says_why(run: Run, change: dict[str, Any], sentence: str) -> None:
    status, plan, log = run("qsi_plan", **{"seq_lens": LENGTHS, "n_idx": 2, **OF_24, **change})
    assert status != 0
    assert log == sentence
    assert (plan == -7).all()


BAD_LENGTHS = [
    ("qsi_plan", {"seq_lens": int32(5, 8193), "n_idx": 2}),
    ("sfaa_plan", {"seq_lens": int32(2**31 - 1), "n_kv": 2, "group": 4}),
    ("qsi_plan", {"seq_lens": LENGTHS, "n_idx": 1, "s_q": 2, "query_lens": int32(0, 1, 2, 3, 2)}),
    ("sfaa_plan", {"seq_lens": LENGTHS, "n_kv": 1, "group": 1, "query_lens": int32(0, 1, -1, 1, 1)}),
    *(
        ("sfaa_plan", {"seq_lens": int32(7, 7), "n_kv": 1, "group": 1, "query_layout": "TND"} | starts)
        for starts in (
            {"query_start_loc": int32(1, 1, 2)},
            {"query_start_loc": int32(0, 2, 1)},
            {"query_start_loc": int32(0, -1, 1)},
        )
    ),
    ("qsi_plan", {"seq_lens": int32(7), "n_idx": 65536, "query_start_loc": int32(0, 2**30)}
     | {"query_layout": "TND"}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "arguments"), BAD_LENGTHS)
def test_lengths_that_the_cpu_refuses_are_refused_by_a_task(
    run: Run, op: str, arguments: dict[str, Any]
) -> None:
    """With the same sentence, and without a plan."""
    with pytest.raises(ValueError) as refused:
        getattr(torch.ops.sals, op)(**arguments, **OF_24)
    status, plan, log = run(op, **arguments, **OF_24)
    assert status != 0
    assert log == str(refused.value)
    assert (plan == -7).all()


@pytest.mark.parametrize("lengths", [(-1, 5), (0, 0), (-(2**31), 8192)])
def test_lengths_of_padding_are_planned(run: Run, lengths: tuple[int, int]) -> None:
    status, plan, log = run("qsi_plan", seq_lens=int32(*lengths), n_idx=2, **OF_24)
    assert (status, log) == (0, "")
    assert torch.equal(plan, torch.ops.sals.qsi_plan(int32(*lengths), n_idx=2, **OF_24))


def test_the_descriptor_names_the_kernels_and_their_library() -> None:
    entries = json.loads((ROOT / "aicpu_tiling/aicpu/cust_aicpu_kernel.json").read_text())
    assert sorted(entries) == sorted(name.decode() for name in TYPES.values())
    built = (ROOT / "aicpu_tiling/aicpu/kernels.cmake").read_text()
    for entry in entries.values():
        assert f"/{entry['opInfo']['kernelSo']})" in built
