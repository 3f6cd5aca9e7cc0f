# SPDX-License-Identifier: Apache-2.0
"""How many tokens lists of blocks name: what the attention is planned by, and what it must read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sals import _core
from sals._contract import PLAN_OP_SFAA


def flat_lists(inputs: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lists, shape (lists, heads, width), and the request of each; -1: of none."""
    ids = inputs["block_ids"]
    lists, batch = math.prod(ids.shape[:-2]), len(inputs["seq_lens"])
    flat = ids.reshape(lists, *ids.shape[-2:])
    if inputs.get("query_start_loc") is None:
        return flat, np.repeat(np.arange(batch), lists // max(batch, 1))
    requests = np.searchsorted(inputs["query_start_loc"], np.arange(lists), side="right") - 1
    return flat, np.where(requests < batch, requests, -1)


def listed_tokens(inputs: Mapping[str, Any], block_size: int) -> np.ndarray:
    """Return the tokens in each list, shape (lists, heads); a block that occurs twice counts twice.

    Parameters
    ----------
    inputs : mapping of str to array or None
        Arguments of `run_sfaa` by name.
    block_size : int
        Tokens of a block.
    """
    ids, requests = flat_lists(inputs)
    lengths = np.where(requests < 0, 0, np.maximum(inputs["seq_lens"], 0)[requests])
    tokens = np.clip(lengths[:, None, None] - ids.astype(np.int64) * block_size, 0, block_size)
    return np.where(ids < 0, 0, tokens).sum(axis=-1)


def distinct_tokens(inputs: Mapping[str, Any], block_size: int, heads: int) -> int:
    """Return the tokens, over all requests and KV heads, that lists name at least once."""
    ids, requests = flat_lists(inputs)
    total = 0
    for request, length in enumerate(inputs["seq_lens"].tolist()):
        blocks = max(-(-length // block_size), 0)
        size = np.clip(length - np.arange(blocks) * block_size, 0, block_size)
        for head in range(ids.shape[1]):
            named = ids[requests == request, head]
            total += int(size[np.unique(named[(named >= 0) & (named < blocks)])].sum())
    return total * (heads // ids.shape[1])


def make_sfaa_plan(inputs: Mapping[str, Any], block_size: int, heads: int, cores: int) -> np.ndarray:
    """Divide the list rows of a call over `cores`, each row as long as its list."""
    tokens = listed_tokens(inputs, block_size).max(axis=-1, initial=0)
    query_rows = rows_of_a_list(inputs, heads)
    return _core.plan_rows(PLAN_OP_SFAA, num_cores=cores, heads=heads, tokens=tokens, query_rows=query_rows)


def rows_of_a_list(inputs: Mapping[str, Any], heads: int) -> int:
    """Return the query rows that go through a list of one KV head together."""
    ids, query = inputs["block_ids"], inputs["query"]
    shared = ids.ndim == 4 and ids.shape[1] == 1
    return int(query.shape[-2] // heads * (query.shape[1] if shared else 1))
