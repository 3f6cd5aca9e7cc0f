# SPDX-License-Identifier: Apache-2.0
"""Bytes that a method stores and reads, by formula; the tests hold them against allocated memory."""

from __future__ import annotations

import dataclasses

from sals import _core
from sals._contract import DEFAULT_BLOCK_SIZE
from sals.cache import CacheSpec
from sals.calibration.artifact import Calibration, ModelFingerprint

from .interface import Evictor, Method
from .oracle import Oracle
from .quest import Quest
from .stca import Stca

BFLOAT16_BYTES = 2
FLOAT_BYTES = POSITION_BYTES = 4
HALF_PAGE = (DEFAULT_BLOCK_SIZE - 1) / 2


@dataclasses.dataclass(frozen=True)
class Footprint:
    """Bytes of one request in all layers.

    Parameters
    ----------
    stored : float
        What the cache holds.
    read : float
        What a decode step reads to choose, to attend and to score.
    """

    stored: float
    read: float


def dense_bytes(facts: ModelFingerprint, tokens: int) -> int:
    """Bytes of a bfloat16 cache, which a dense step reads in full."""
    return 2 * facts.n_layers * facts.n_kv * facts.head_dim * BFLOAT16_BYTES * tokens


def footprint(
    method: Method, facts: ModelFingerprint, tokens: int, read: float, index: Calibration | None = None
) -> Footprint:
    """Bytes for a request of `tokens` tokens.

    Evictors that score also hold the queries of the last step, in float32, with their log-sum-exps.

    Parameters
    ----------
    method : Method
        The method.
    facts : ModelFingerprint
        Shape of the model.
    tokens : int
        Tokens that the request has had.
    read : float
        Tokens that a query reads, or a row of an evictor holds, on average.
    index : Calibration, optional
        The index of sals and sketch.
    """
    rows = facts.n_layers * facts.n_kv
    token = kv_bytes(facts.head_dim)
    if isinstance(method, Evictor):
        extra = token_state_bytes(method, facts.head_dim)
        stored, scoring = rows * read * (token + extra.stored), rows * read * extra.read
        if method.scorer() is not None:
            stored += facts.n_layers * facts.n_q * (facts.head_dim + 1) * FLOAT_BYTES
        if isinstance(method, Stca) and method.demotes:
            # Half of the `interval` new tokens are there on average; pages of both kinds end half empty.
            low = rows * max(tokens - read + method.interval / 2 + 2 * HALF_PAGE, 0)
            stored += low * (demoted_bytes(facts.head_dim) + POSITION_BYTES)
            scoring += low * demoted_bytes(facts.head_dim)
        return Footprint(stored, rows * read * token + scoring)
    if index is not None:
        spec = CacheSpec(
            "PA_BNSD", 1, DEFAULT_BLOCK_SIZE, facts.n_kv, facts.head_dim, index.n_idx, index.rank
        )
        choosing = facts.n_layers * spec.index_bytes_per_token * tokens
        return Footprint(rows * token * tokens + choosing, rows * token * read + choosing)
    bounds = rows * tokens * 4 * facts.head_dim / method.block_size if isinstance(method, Quest) else 0.0
    keys = rows * tokens * (token / 2) if isinstance(method, Oracle) else 0.0
    return Footprint(rows * token * tokens + bounds, rows * token * read + bounds + keys)


def kv_bytes(head_dim: int) -> int:
    """Bytes of one token and KV head: two int8 rows with fp32 scales."""
    return 2 * (int(_core.padded_head_dim(head_dim)) + 4)


def demoted_bytes(head_dim: int) -> int:
    """Bytes of one demoted token and KV head: two int4 rows with fp32 scales."""
    return int(_core.padded_head_dim(head_dim)) + 8


def token_state_bytes(method: Evictor, head_dim: int) -> Footprint:
    """Bytes beside the keys and values of one token and KV head, and what scoring reads of it.

    Positions are int32, scores float32, sketches bfloat16. Scores are made from the keys, which are read
    once more, or from the sketches.
    """
    scorer = method.scorer()
    if scorer is None:
        return Footprint(POSITION_BYTES, 0)
    sketch = BFLOAT16_BYTES * scorer.sketch_width(head_dim)
    key = kv_bytes(head_dim) / 2
    return Footprint(POSITION_BYTES + FLOAT_BYTES + sketch, FLOAT_BYTES + (sketch or key))


def requests_that_fit(memory_bytes: float, stored: float) -> int:
    """Count the requests of the same size whose caches fit a memory."""
    return int(memory_bytes // stored)


def row_slots(method: Evictor, kept: float) -> float:
    """Slots of a row, in pages: the budget, or for STCA what it keeps and the `interval` new tokens.

    Rows of STCA end anywhere in a page, so half a page is empty on average.
    """
    if isinstance(method, Stca):
        return kept + method.interval + HALF_PAGE
    return float(-(-method.budget // DEFAULT_BLOCK_SIZE) * DEFAULT_BLOCK_SIZE)
