# SPDX-License-Identifier: Apache-2.0
"""The bytes that the attention must move, by closed formulas, and how far a run is from their time.

From memory, each once: keys and values of listed tokens, 2 head_dim bytes per token and KV head, and their
scales; page table, lists and lengths; the queries; the results.

Through the workspace, which the L2 holds, each written and read, for a list row of M query rows and n
columns in t tasks: the two int8 terms of the query, 2 M head_dim; int32 scores, 8 M n; the two int8 terms of
the weights, 2 M n; int32 products, 8 M head_dim t. Cut rows exchange their parts, too, and pieces of them
that begin or end inside a task exchange one more set of products; the formula leaves both out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sals import _sim
from sals._contract import SFAA_COLUMN_GROUP, SFAA_MAX_TASK_TOKENS, SFAA_TASK_BYTES, SFAA_TERMS
from sals.reference import layouts
from sals.simulator.arguments import as_numpy
from sals.simulator.listed import distinct_tokens, listed_tokens, rows_of_a_list
from sals.simulator.result import Result
from sals.simulator.roofline import Roofline, floors_of

WORD_BYTES = 4


def sfaa_roofline(
    result: Result, arguments: Mapping[str, Any], outputs: tuple[np.ndarray | None, ...], *,
    block_size: int, layout: str, cores: int,
) -> Roofline:  # fmt: skip
    """Compare a run with the bytes that the attention must move.

    Parameters
    ----------
    result : Result
        From `run_sfaa`, in the order of modelled time (seed 0).
    arguments : mapping of str to array or None
        Arguments of `run_sfaa` by name.
    outputs : tuple of array or None
        Output and LSE.
    block_size, layout, cores
        As given to `run_sfaa`.
    """
    inputs = {name: as_numpy(value) for name, value in arguments.items() if value is not None}
    heads = layouts.heads_of(inputs["key_cache"], layout)
    head_dim = inputs["query"].shape[-1]
    tokens = distinct_tokens(inputs, block_size, heads)
    cache_bytes = 2 * tokens * head_dim
    static = inputs["key_scale"].ndim == 2
    scale_bytes = WORD_BYTES * 2 * (heads * head_dim if static else tokens)
    small = ("query", "block_ids", "seq_lens", "query_lens", "query_start_loc")
    other = sum(inputs[name].nbytes for name in small if name in inputs)
    other += sum(array.nbytes for array in outputs if array is not None)
    if "block_table" in inputs:
        pages = np.maximum(inputs["seq_lens"], 0) / _page_tokens(inputs["key_cache"], layout)
        other += WORD_BYTES * int(np.ceil(pages).sum())
    compulsory = cache_bytes + scale_bytes + other
    exchange, weights = _exchange(inputs, block_size, heads)
    # The cube cores read keys and values at the rate of misses, weights at that of hits.
    cube_cycles = (cache_bytes / _sim.HBM_READ_RATE + weights / _sim.L2_READ_RATE) / cores
    floors = floors_of(result, compulsory, cube_cycles)
    floors["L2 bandwidth"] = (compulsory + exchange) / _sim.L2_BYTES_PER_NS * result.clock_ghz
    regions = result.counters.region_read_bytes, result.counters.region_write_bytes
    exchanged = sum(region.get("workspace", 0) for region in regions)
    return Roofline(compulsory, result.counters.hbm_bytes, floors, result.cycles, exchanged, exchange)


def _page_tokens(cache: np.ndarray, layout: str) -> int:
    return int(cache.shape[{"PA_BNSD": 2, "PA_BSND": 1, "PA_NZ": 3, "PA_KV": 4}[layout]])


def _exchange(inputs: Mapping[str, Any], block_size: int, heads: int) -> tuple[float, float]:
    """Return the bytes written to and read from the workspace, and those of them that are weights read."""
    head_dim = inputs["query"].shape[-1]
    tokens = listed_tokens(inputs, block_size)
    columns = -(-tokens // SFAA_COLUMN_GROUP) * SFAA_COLUMN_GROUP  # at most one block of a list is partial
    tasks = -(-columns // min(SFAA_TASK_BYTES // head_dim, SFAA_MAX_TASK_TOKENS))
    lists = heads // tokens.shape[1]
    rows = SFAA_TERMS * rows_of_a_list(inputs, heads) * lists
    query = rows * head_dim * int((tokens > 0).sum())
    scores, weights = (rows * size * int(columns.sum()) for size in (WORD_BYTES, 1))
    products = rows * head_dim * WORD_BYTES * int(tasks.sum())
    return 2.0 * (query + scores + weights + products), float(weights)
