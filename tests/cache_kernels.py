# SPDX-License-Identifier: Apache-2.0
"""Calls of project_query and write_cache for their NPU kernels, and their runs on the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import calls
import operators
from cache_calls import Caches, written
from sals.simulator import Result, run_project_query, run_write_cache

PER_TOKEN = ("key", "value", "index_key")
DEVICE_RANKS = (64, 128, 256)


def random_query(
    tokens: int, *, n_kv: int = 2, group: int = 4, n_idx: int = 2, head_dim: int = 64, rank: int = 64,
    dtype: str = "bfloat16",
) -> calls.Call:  # fmt: skip
    """Query [tokens, n_q, head_dim] and its projection."""
    generator = torch.Generator().manual_seed(90)
    query = torch.randn(tokens, n_kv * group, head_dim, generator=generator)
    projection = torch.randn(n_idx, n_kv * head_dim // n_idx, rank, generator=generator)
    return {
        "query": query.to(operators.FLOATS[dtype]),
        "projection": projection,
        "n_idx": n_idx,
        "scale": 0.125,
    }


def projected(call: calls.Call) -> tuple[np.ndarray, np.ndarray]:
    """Packed codes and scales from the CPU operator."""
    packed, scale = operators.ops.project_query(**call)
    return packed.numpy(), scale.numpy()


def project_on_simulator(call: calls.Call, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Packed codes and scales from the kernel, in which nothing may be found."""
    packed, scale, result = run_project_query(**call, **options)
    assert not result.findings, f"{options}\n{result}"
    return packed, scale


def random_tokens(call: calls.Call, slots: list[int] | np.ndarray) -> calls.Call:
    """The call with a random token for each of `slots`."""
    generator = torch.Generator().manual_seed(91)
    mapping = torch.tensor(np.array(slots), dtype=torch.int32)
    shape = (len(mapping), *call["key"].shape[1:])
    tokens = {name: torch.randn(shape, generator=generator).to(call[name].dtype) for name in PER_TOKEN}
    return {**call, **tokens, "slot_mapping": mapping}


def write_on_simulator(call: calls.Call, **options: Any) -> Caches:
    """What the kernel makes of a call's caches; nothing may be found in it."""

    def write(**arguments: Any) -> Result:
        result = run_write_cache(**arguments, **options)
        assert not result.findings, f"{options}\n{result}"
        return result

    return written(call, write)
