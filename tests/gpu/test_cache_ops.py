# SPDX-License-Identifier: Apache-2.0
"""project_query and write_cache: the bits of the CPU backend."""

from __future__ import annotations

import pytest
import torch

import calls
from cases import LAYOUTS
from gpu.backends import Backend
from gpu.test_qsi import assert_same


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    "shape", [{}, {"rank": 64}, {"n_idx": 1, "rank": 256}, {"head_dim": 80, "rank": 8}], ids=str
)
def test_project_query(backend: Backend, dtype: str, shape: dict) -> None:
    call = calls.project_query(dtype=dtype, **shape)
    assert_same(backend.run("project_query", call), calls.run("project_query", call))


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_project_query_of_odd_values(backend: Backend, value: float) -> None:
    call = calls.project_query()
    call["query"][0] = value
    assert_same(backend.run("project_query", call), calls.run("project_query", call))


def written(run, call: calls.Call) -> list[torch.Tensor]:
    names = ("key_cache", "value_cache", "index_cache", "index_scale", "key_scale", "value_scale")
    run(call)
    return [call[name].cpu() for name in names if call[name] is not None]


def check_write(backend: Backend, call: calls.Call) -> None:
    copy = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in call.items()}
    moved = backend.move(copy)
    found = written(lambda c: backend.ops.write_cache(**c), moved)
    assert_same(found, written(lambda c: calls.run("write_cache", c), call))


@pytest.mark.parametrize("static_scales", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_write_cache(backend: Backend, layout: str, static_scales: bool) -> None:
    check_write(backend, calls.write_cache(layout=layout, static_scales=static_scales))


@pytest.mark.parametrize(
    "changes",
    [{"dtype": "float32"}, {"dtype": "float16", "n_idx": 1}, {"head_dim": 80},
     {"head_dim": 80, "layout": "PA_NZ"}, {"head_dim": 256, "n_idx": 1, "rank": 256}, {"rank": 8}],
    ids=str,
)  # fmt: skip
def test_write_cache_shapes(backend: Backend, changes: dict) -> None:
    check_write(backend, calls.write_cache(**changes))


def test_the_last_token_of_a_slot_stays(backend: Backend) -> None:
    check_write(backend, {**calls.write_cache(), "slot_mapping": torch.tensor([7, 7, 7], dtype=torch.int32)})


def test_slots_outside_the_caches_are_skipped(backend: Backend) -> None:
    outside = {**calls.write_cache(), "slot_mapping": torch.tensor([5, -7, 1 << 30], dtype=torch.int32)}
    skipped = {**calls.write_cache(), "slot_mapping": torch.tensor([5, -1, -1], dtype=torch.int32)}
    found = written(lambda c: backend.ops.write_cache(**c), backend.move(outside))
    assert_same(found, written(lambda c: calls.run("write_cache", c), skipped))
