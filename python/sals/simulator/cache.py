# SPDX-License-Identifier: Apache-2.0
"""The NPU kernels around the caches on the simulator: project a query, write new tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sals import _sim
from sals.simulator.arguments import as_numpy, inout, output
from sals.simulator.launch import launch
from sals.simulator.result import Result

PACKAGE = Path(__file__).parents[1]
PROJECT_QUERY_KERNEL = PACKAGE / "_kernel_project_query.so"
WRITE_CACHE_KERNEL = PACKAGE / "_kernel_write_cache.so"
VECTOR_CORES = 48


def run_project_query(
    query: Any,
    projection: Any,
    *,
    n_idx: int,
    scale: float,
    cores: int = VECTOR_CORES,
    seed: int = 0,
    library: str | Path = PROJECT_QUERY_KERNEL,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray, Result]:
    """Run the kernel of ``sals::project_query`` on the simulator.

    Parameters
    ----------
    query, projection, n_idx, scale
        As for the operator. NumPy arrays or CPU tensors; the rank must be 64, 128 or 256. NumPy has no
        bfloat16: its bits come as uint16.
    cores : int
        Vector cores.
    seed : int
        As for :func:`sals.simulator.launch`.
    library : path
        The kernel; a changed one can be built with :func:`sals.simulator.build`.
    **options
        Further options of :func:`sals.simulator.launch`.

    Returns
    -------
    packed : array of int32, shape (..., n_idx, rank / 8)
    query_scale : array of float32, shape (..., n_idx)
    result : Result
        Findings and modelled counters.

    Raises
    ------
    ValueError
        If an argument breaks a rule.
    """
    inputs = _contiguous({"query": query, "projection": projection})
    call = _sim.prepare_project_query(inputs, {"n_idx": n_idx, "scale": scale})
    packed = np.empty(call["packed_shape"], np.int32)
    query_scale = np.empty(call["query_scale_shape"], np.float32)
    outputs = {"packed": output(packed), "query_scale": output(query_scale)}
    result = launch(
        library,
        "sals_project_query",
        {**inputs, **outputs, "workspace": None, "tiling": call["tiling"]},
        kind="vector",
        cores=cores,
        seed=seed,
        **options,
    )
    return packed, query_scale, result


def run_write_cache(
    key: Any,
    value: Any,
    index_key: Any,
    projection: Any,
    slot_mapping: Any,
    key_cache: Any,
    value_cache: Any,
    index_cache: Any,
    index_scale: Any,
    key_scale: Any,
    value_scale: Any,
    *,
    layout: str = "PA_BNSD",
    static_scales: bool = False,
    cores: int = VECTOR_CORES,
    seed: int = 0,
    library: str | Path = WRITE_CACHE_KERNEL,
    **options: Any,
) -> Result:
    """Run the kernel of ``sals::write_cache`` on the simulator; caches and scales are written in place.

    Parameters
    ----------
    key, value, index_key, projection, slot_mapping
        As for the operator. NumPy arrays or CPU tensors; the rank must be 64, 128 or 256. Slots are taken as
        they are, as on a device: the kernel skips what is not in the cache.
    key_cache, value_cache, index_cache, index_scale, key_scale, value_scale
        As for the operator, contiguous. ``value_cache`` is None with layout PA_KV; the scales of keys and
        values are only read with `static_scales`.
    layout, static_scales
        As for the operator.
    cores : int
        Vector cores.
    seed : int
        As for :func:`sals.simulator.launch`.
    library : path
        The kernel; a changed one can be built with :func:`sals.simulator.build`.
    **options
        Further options of :func:`sals.simulator.launch`.

    Returns
    -------
    Result
        Findings and modelled counters.

    Raises
    ------
    ValueError
        If an argument breaks a rule.
    """
    inputs = _contiguous(
        {
            "key": key,
            "value": value,
            "index_key": index_key,
            "projection": projection,
            "slot_mapping": slot_mapping,
        }
    )
    caches = {
        "key_cache": key_cache,
        "value_cache": value_cache,
        "index_cache": index_cache,
        "index_scale": index_scale,
    }
    scales = {"key_scale": key_scale, "value_scale": value_scale}
    in_place = {
        name: None if tensor is None else as_numpy(tensor) for name, tensor in {**caches, **scales}.items()
    }
    words = {"layout": layout, "static_scales": static_scales}
    call = _sim.prepare_write_cache({**inputs, **in_place}, words)
    read_only = scales.keys() if static_scales else ()
    arguments = {
        name: array if array is None or name in read_only else inout(array)
        for name, array in in_place.items()
    }
    second_addresses = {f"{name}_ref": None for name in in_place if name != "value_cache"}  # unused outputs
    return launch(
        library,
        "sals_write_cache",
        {**inputs, **arguments, **second_addresses, "workspace": None, "tiling": call["tiling"]},
        kind="vector",
        cores=cores,
        seed=seed,
        **options,
    )


def _contiguous(arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.ascontiguousarray(as_numpy(value)) for name, value in arrays.items()}
