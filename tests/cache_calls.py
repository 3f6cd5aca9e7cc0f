# SPDX-License-Identifier: Apache-2.0
"""What tests of project_query and write_cache share: their calls on CPU and in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import calls
import operators
from sals.reference import write_cache

WRITTEN = ("key_cache", "value_cache", "index_cache", "index_scale", "key_scale", "value_scale")
Caches = dict[str, np.ndarray | None]


# ---- project_query ---------------------------------------------------------------------------------------


def group_means(query: torch.Tensor, n_kv: int, n_idx: int) -> np.ndarray:
    """Mean query of each KV head in float64, as inputs of the index heads."""
    values = query.double().numpy()
    means = values.reshape(*values.shape[:-2], n_kv, -1, values.shape[-1]).mean(axis=-2)
    return means.reshape(*means.shape[:-2], n_idx, -1)


# ---- write_cache -----------------------------------------------------------------------------------------


def exact_index(call: calls.Call) -> calls.Call:
    """Index keys and projection of small integers, so that every order of summation is exact."""
    generator = torch.Generator().manual_seed(81)
    shape, dtype = call["index_key"].shape, call["index_key"].dtype
    return {
        **call,
        "index_key": torch.randint(-8, 9, shape, generator=generator).to(dtype),
        "projection": torch.randint(-4, 5, call["projection"].shape, generator=generator).float(),
    }


def copy_of(call: calls.Call) -> calls.Call:
    """A call whose tensors are its own."""
    return {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in call.items()}


def caches_of(call: calls.Call) -> Caches:
    """What the caches of a call hold."""
    return {name: None if call[name] is None else call[name].numpy() for name in WRITTEN}


def reference_caches(call: calls.Call) -> Caches:
    """What the reference makes of a call's caches; the call's own are left alone."""
    arrays = {
        name: operators.to_numpy(value).copy() if isinstance(value, torch.Tensor) else value
        for name, value in call.items()
    }
    write_cache(**arrays)
    return {name: arrays[name] for name in WRITTEN}


def written(call: calls.Call, write: Callable[..., Any] | None = None) -> Caches:
    """What the CPU operator, or `write`, makes of a call's caches; the call's own are left alone."""
    call = copy_of(call)
    (write or operators.ops.write_cache)(**call)
    return caches_of(call)


def assert_caches_equal(actual: Caches, expected: Caches, names: tuple[str, ...] = WRITTEN) -> None:
    for name in names:
        if expected[name] is not None:
            np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)
