# SPDX-License-Identifier: Apache-2.0
"""The attention NPU kernel on the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sals import _sim
from sals.reference import layouts
from sals.simulator.arguments import as_numpy, output, workspace
from sals.simulator.launch import launch
from sals.simulator.listed import make_sfaa_plan
from sals.simulator.result import Result

KERNEL = Path(__file__).parents[1] / "_kernel_sfaa.so"
ENTRY = "sals_sfaa"
# In the order of the entry's parameters; results, workspace and tiling follow.
TENSORS = (
    "query", "key_cache", "value_cache", "key_scale", "value_scale", "block_ids", "selected_lens", "seq_lens",
    "query_lens", "query_start_loc", "block_table", "plan",
)  # fmt: skip


def run_sfaa(
    query: Any,
    key_cache: Any,
    value_cache: Any,
    key_scale: Any,
    value_scale: Any,
    block_ids: Any,
    selected_lens: Any,
    seq_lens: Any,
    *,
    scale: float,
    block_size: int = 16,
    block_table: Any = None,
    query_lens: Any = None,
    query_start_loc: Any = None,
    plan: Any = "auto",
    layout: str = "PA_BNSD",
    query_layout: str = "BSND",
    causal: bool = True,
    return_lse: bool = False,
    joins_runs: bool = True,
    joins_pairs: bool = True,
    touched_percent: int = 0,
    preloads: bool = True,
    cores: int = 24,
    seed: int = 0,
    trace: bool | str | Path = False,
    library: str | Path = KERNEL,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray | None, Result]:
    """Run the kernel of :func:`sals.sparse_attention` on the simulator.

    Parameters
    ----------
    query, key_cache, value_cache, key_scale, value_scale, block_ids, selected_lens, seq_lens, scale
        As for :func:`sals.sparse_attention`; so are ``block_size``, ``block_table``, ``query_lens``,
        ``query_start_loc``, ``layout``, ``query_layout``, ``causal`` and ``return_lse``. NumPy arrays or CPU
        tensors; an array of bfloat16 is one of uint16, its bits.
    plan : "auto", None or array of int32
        How the work is divided: by the planner, by the kernel, which gives every core as many rows, or as
        given.
    joins_runs, joins_pairs : bool
        Whether the kernel fetches consecutive tokens of a page, and pairs of such stretches, together. No
        result depends on it.
    touched_percent : int
        The share of every task, 0 to 100, that the vector cores read ahead of the cube core, so that it is in
        the L2. No result depends on it.
    preloads : bool
        Whether a task is fetched while earlier ones are in work; else the cores go through tasks one by one,
        which is there to compare with. No result depends on it.
    cores, seed, trace
        As for :func:`sals.simulator.launch`.
    library : path
        The kernel; a changed one can be built with :func:`sals.simulator.build`.
    **options
        Further options of :func:`sals.simulator.launch`.

    Returns
    -------
    out : array, shape and dtype of the query
    lse : array of float32, or None if not asked for
        As from :func:`sals.sparse_attention`.
    result : Result
        Findings and modelled counters.

    Raises
    ------
    ValueError
        If an argument breaks a rule. Lengths, ids, pages and plan are taken as they are, as on a device:
        whatever they say, the kernel keeps inside its tensors.
    """
    if isinstance(plan, str) and plan != "auto":
        raise ValueError(f"sals::sfaa: plan must be 'auto', None or an array, got {plan!r}")
    if not 0 <= touched_percent <= 100:
        raise ValueError(f"sals::sfaa: touched_percent must be in [0, 100], got {touched_percent}")
    given = (
        query, key_cache, value_cache, key_scale, value_scale, block_ids, selected_lens, seq_lens,
        query_lens, query_start_loc, block_table, None if isinstance(plan, str) else plan,
    )  # fmt: skip
    inputs: dict[str, Any] = {
        name: None if value is None else np.ascontiguousarray(as_numpy(value))
        for name, value in zip(TENSORS, given, strict=True)
    }
    words = {"scale": scale, "block_size": block_size, "layout": layout, "query_layout": query_layout}
    flags = {"causal": causal, "return_lse": return_lse}
    policy = {
        "joins_runs": joins_runs, "joins_pairs": joins_pairs, "touched_percent": touched_percent,
        "preloads": preloads,
    }  # fmt: skip
    call = _sim.prepare_sfaa(inputs, {**words, **flags, **policy}, cores)
    if isinstance(plan, str):
        inputs["plan"] = make_sfaa_plan(
            inputs, block_size, layouts.heads_of(inputs["key_cache"], layout), cores
        )
    out = np.empty_like(inputs["query"])
    lse = np.empty(call["lse_shape"], np.float32) if return_lse else None
    result = launch(
        library,
        ENTRY,
        {
            **inputs,
            "out": output(out),
            "lse": None if lse is None else output(lse),
            "workspace": workspace(call["workspace_bytes"]),
            "tiling": call["tiling"],
        },
        cores=cores,
        seed=seed,
        trace=trace,
        **{"batch_schedule": call["batch_schedule"], **options},
    )
    return out, lse, result
