# SPDX-License-Identifier: Apache-2.0
"""The indexer's NPU kernel on the simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sals import _core, _sim
from sals._contract import PLAN_OP_QSI
from sals.selection import Selection
from sals.simulator.arguments import as_numpy, output, workspace
from sals.simulator.launch import launch
from sals.simulator.result import Result
from sals.simulator.roofline import Roofline, roofline

KERNEL = Path(__file__).parents[1] / "_kernel_qsi.so"
ENTRY = "sals_qsi"
SCALE_BYTES = 4
WORD_BYTES = 4
DEFAULT_SELECTION = Selection()


def run_qsi(
    query: Any,
    query_scale: Any,
    key_cache: Any,
    key_scale: Any,
    seq_lens: Any,
    *,
    max_seq_len: int,
    selection: Selection = DEFAULT_SELECTION,
    block_table: Any = None,
    query_lens: Any = None,
    query_start_loc: Any = None,
    plan: Any = "auto",
    layout: str = "PA_BNSD",
    query_layout: str = "BSND",
    cores: int = 24,
    seed: int = 0,
    trace: bool | str | Path = False,
    library: str | Path = KERNEL,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray, Result]:
    """Run the kernel of :func:`sals.select_blocks` on the simulator.

    Parameters
    ----------
    query, query_scale, key_cache, key_scale, seq_lens, max_seq_len, selection, block_table, query_lens
        As for :func:`sals.select_blocks`; so are ``query_start_loc``, ``layout`` and ``query_layout``. NumPy
        arrays or CPU tensors.
    plan : "auto", None or array of int32
        How the work is divided: by the planner, by the kernel itself, or as given.
    cores, seed, trace
        As for :func:`sals.simulator.launch`.
    library : path
        The kernel; a changed one can be built with :func:`sals.simulator.build`.
    **options
        Further options of :func:`sals.simulator.launch`.

    Returns
    -------
    block_ids : array of int32
    selected_lens : array of int32
        As from :func:`sals.select_blocks`.
    result : Result
        Findings and modelled counters.

    Raises
    ------
    ValueError
        If an argument breaks a rule. Lengths, pages and plan are taken as they are, as on a device: whatever
        they say, the kernel keeps inside the cache.
    """
    arrays = {
        "query": query,
        "query_scale": query_scale,
        "key_cache": key_cache,
        "key_scale": key_scale,
        "seq_lens": seq_lens,
        "query_lens": query_lens,
        "query_start_loc": query_start_loc,
        "block_table": block_table,
    }
    inputs = _as_arrays(arrays)
    inputs["plan"] = None if plan is None or isinstance(plan, str) else as_numpy(plan)
    if isinstance(plan, str) and plan != "auto":
        raise ValueError(f"sals::qsi: plan must be 'auto', None or an array, got {plan!r}")
    words = {"max_seq_len": max_seq_len, "layout": layout, "query_layout": query_layout}
    call = _sim.prepare_qsi(inputs, {**selection.arguments(), **words}, cores)
    if isinstance(plan, str):
        inputs["plan"] = make_plan(inputs, selection, call, cores)
    block_ids = np.empty(call["block_ids_shape"], np.int32)
    selected_lens = np.empty(call["selected_lens_shape"], np.int32)
    result = launch(
        library,
        ENTRY,
        {
            **{
                name: None if value is None else np.ascontiguousarray(value) for name, value in inputs.items()
            },
            "block_ids": output(block_ids),
            "selected_lens": output(selected_lens),
            "workspace": workspace(call["workspace_bytes"]),
            "tiling": call["tiling"],
        },
        cores=cores,
        seed=seed,
        trace=trace,
        **{"batch_schedule": call["batch_schedule"], **options},
    )
    return block_ids, selected_lens, result


def selection_params(selection: Selection) -> _core.SelectionParams:
    """Return the selection as the contract's integers."""
    words = selection.plan_arguments()
    coverage = words.pop("coverage")
    quantised = int(_core.quantize_coverage(min(coverage, 1.0)))
    return _core.SelectionParams(**words, coverage_q=max(quantised, 1) if coverage > 0 else 0)


def make_plan(
    inputs: Mapping[str, Any], selection: Selection, call: Mapping[str, Any], cores: int
) -> np.ndarray:
    """Divide the rows of a prepared call over `cores`."""
    return _core.make_plan(
        PLAN_OP_QSI,
        *(inputs[name] for name in ("seq_lens", "query_lens", "query_start_loc")),
        heads=call["n_idx"],
        s_q=call["s_q"],
        params=selection_params(selection),
        num_cores=cores,
    )


def qsi_roofline(
    result: Result,
    arguments: Mapping[str, Any],
    block_ids: np.ndarray,
    selection: Selection,
    cores: int,
) -> Roofline:
    """Compare a run with the bytes that the indexer must move.

    Every scored key and its scale is read once, whatever the number of query tokens; so are the table, the
    lengths and the queries, and the results are written once.

    Parameters
    ----------
    result, block_ids
        From `run_qsi`.
    arguments : mapping of str to array or None
        Arguments of `run_qsi` by name.
    selection, cores
        As given to `run_qsi`.
    """
    inputs = _as_arrays(arguments)
    n_idx, words = inputs["query"].shape[-2:]
    tokens = _scored_tokens(inputs, selection) * n_idx
    key_bytes, scale_bytes = tokens * words * WORD_BYTES, tokens * SCALE_BYTES
    small = ("query", "query_scale", "seq_lens", "query_lens", "query_start_loc")
    other = sum(inputs[name].nbytes for name in small if inputs.get(name) is not None)
    if inputs.get("block_table") is not None:
        page_tokens = inputs["key_scale"].size // (len(inputs["key_scale"]) * n_idx)
        pages = (max(int(length), 0) / page_tokens for length in inputs["seq_lens"])
        other += WORD_BYTES * sum(map(math.ceil, pages))
    other += block_ids.nbytes + WORD_BYTES * math.prod(block_ids.shape[:-1])
    return roofline(result, key_bytes + scale_bytes + other, key_bytes, cores)


def _as_arrays(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if value is None else as_numpy(value) for name, value in arguments.items()}


def _scored_tokens(inputs: Mapping[str, Any], selection: Selection) -> int:
    """Tokens of all requests that compete, as the newest query token of each sees them."""
    newest = _core.plan_tokens(
        PLAN_OP_QSI, inputs["seq_lens"], s_q=1, shared_list=True, params=selection_params(selection)
    )
    if inputs.get("query_start_loc") is not None:
        return int(newest[np.diff(inputs["query_start_loc"]) > 0].sum())
    if inputs.get("query_lens") is not None:
        return int(newest[inputs["query_lens"] > 0].sum())
    return int(newest.sum())
