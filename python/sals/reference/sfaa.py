# SPDX-License-Identifier: Apache-2.0
"""SFAA, sparse flash attention over the listed blocks of an int8 KV cache.

``out = softmax(scale * q K^T) V`` over the listed tokens: exactly (`sfaa_exact`, float64), and in the
two-term int8 arithmetic of the operators (`sfaa_two_term`, float32). Both take the operators' arguments:

query : float32 array, shape (batch, s_q, n_q, head_dim) or (tokens, n_q, head_dim)
    fp16 and bf16 values are passed as the float32 values they stand for.
key_cache, value_cache : int8 array, int8 array or None
    In `layout`; for PA_KV the joint cache and None. Padding beyond head_dim is not read.
key_scale, value_scale : float32 array
    Rank 2: static per channel (n_kv, head_dim). Rank 3: per token and head, as the layout says.
block_ids : int32 array, shape (batch, s_q or 1, n_kv or 1, width) or (tokens, n_kv or 1, width)
    -1 entries are skipped wherever they stand; a repeated id counts as often as it is listed.
selected_lens : int32 array or None
    Not looked at: what is visible follows from `seq_lens`.
seq_lens : int32 array, shape (batch,)
scale : float
    Softmax scale.
causal : bool
    Query token s of q_len sees ``seq_len - q_len + 1 + s`` tokens, or all `seq_len` without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sals._contract import SFAA_STEP_TOKENS, SFAA_TILE_TOKENS
from sals.reference.listed import ListedRow, SfaaArguments, attend_rows
from sals.reference.two_term import FIRST_TERM, Partial, product, split_rows, tile_partial

Pieces = Callable[[int, int], Iterable[tuple[int, int]]]


def softmax_attention(row: ListedRow, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Attention over the seen slots of one row by the textbook formula, in float64."""
    keys, values = (codes[row.seen].astype(np.float64) for codes in (row.keys, row.values))
    if row.static_scales:
        keys, values = keys * row.key_scale, values * row.value_scale
    else:
        keys, values = keys * row.key_scale[row.seen, None], values * row.value_scale[row.seen, None]
    logits = scale * (row.query.astype(np.float64) @ keys.T)
    maximum = logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits - maximum)
    total = weights.sum(axis=-1, keepdims=True)
    return weights @ values / total, (maximum + np.log(total))[:, 0]


def sfaa_exact(
    query: np.ndarray,
    key_cache: np.ndarray,
    value_cache: np.ndarray | None,
    key_scale: np.ndarray,
    value_scale: np.ndarray,
    block_ids: np.ndarray,
    selected_lens: np.ndarray | None,
    seq_lens: np.ndarray,
    *,
    scale: float,
    **arguments: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Attention in float64 on the dequantised cache: the golden value.

    Returns
    -------
    out : float64 array, shape of `query`
    lse : float64 array, shape of `query` without head_dim
        Natural logarithm; -inf, with zeros in `out`, for a token that sees nothing.
    """
    del selected_lens
    problem = SfaaArguments(
        query, key_cache, value_cache, key_scale, value_scale, block_ids, seq_lens, **arguments
    )
    return attend_rows(problem, lambda row: softmax_attention(row, scale), np.float64)


def row_logits(row: ListedRow, scale: float) -> np.ndarray:
    """Float32 logits [group, slots] of the two-term product, -inf in slots that are not seen."""
    query = row.query * row.key_scale if row.static_scales else row.query
    first, second, amax = split_rows(query)
    logits = product(first, second, row.keys.T) * (amax / FIRST_TERM * np.float32(scale))[:, None]
    if not row.static_scales:
        logits = logits * row.key_scale
    return np.where(row.seen, logits, np.float32(-np.inf))


def piece_partial(row: ListedRow, logits: np.ndarray, tile_begin: int, tile_end: int) -> Partial:
    """Merge one piece of a row in list order, a step of slots with weights of their own at a time."""
    partial = Partial.empty(len(logits), row.values.shape[1])
    end = tile_end * SFAA_TILE_TOKENS
    for begin in range(tile_begin * SFAA_TILE_TOKENS, end, SFAA_STEP_TOKENS):
        slots = slice(begin, min(begin + SFAA_STEP_TOKENS, end))
        value_scale = None if row.static_scales else row.value_scale[slots]
        partial = partial.merge(tile_partial(logits[:, slots], row.values[slots], value_scale))
    return partial


def two_term_attention(row: ListedRow, scale: float, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """Two-term attention of one row, cut into pieces of whole tiles that merge in order."""
    logits = row_logits(row, scale)
    num_tiles = -(-logits.shape[1] // SFAA_TILE_TOKENS)
    total = Partial.empty(len(logits), row.values.shape[1])
    for tile_begin, tile_end in pieces(row.list_row, num_tiles):
        total = total.merge(piece_partial(row, logits, tile_begin, tile_end))
    out = total.accumulator / total.row_sum[:, None]
    if row.static_scales:
        out = out * row.value_scale
    return out, total.maximum + np.log(total.exp_sum)


def one_piece(list_row: int, num_tiles: int) -> list[tuple[int, int]]:
    """Leave every row whole."""
    return [(0, num_tiles)]


def sfaa_two_term(
    query: np.ndarray,
    key_cache: np.ndarray,
    value_cache: np.ndarray | None,
    key_scale: np.ndarray,
    value_scale: np.ndarray,
    block_ids: np.ndarray,
    selected_lens: np.ndarray | None,
    seq_lens: np.ndarray,
    *,
    scale: float,
    pieces: Pieces = one_piece,
    **arguments: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Attention in the operators' arithmetic: int8 products of two-term rows, float32 elsewhere.

    Parameters
    ----------
    pieces : callable
        Half-open tile ranges into which a row is cut, given its list row and its number of tiles; they
        change the last bits only.

    Returns
    -------
    out : float32 array, shape of `query`
        Before rounding to the output dtype.
    lse : float32 array, shape of `query` without head_dim
    """
    del selected_lens
    problem = SfaaArguments(
        query, key_cache, value_cache, key_scale, value_scale, block_ids, seq_lens, **arguments
    )
    return attend_rows(problem, lambda row: two_term_attention(row, scale, pieces), np.float32)
