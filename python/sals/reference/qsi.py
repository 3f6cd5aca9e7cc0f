# SPDX-License-Identifier: Apache-2.0
"""QSI, the indexer: score every block on the int4 index keys, then select.

``logit_j = float(dot_j) * (query_scale * key_scale_j)`` with an exact integer dot product, and the score of
a block is ``m + ln(sum exp(logit_j - m))`` over its visible tokens, ``m`` their maximum. The softmax scale is
part of ``query_scale``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sals._contract import INVALID_BLOCK
from sals.reference import layouts, rows, selection
from sals.reference.int4 import unpack_int4


def token_logits(
    query: np.ndarray,
    query_scale: np.float32,
    key_cache: np.ndarray,
    key_scale: np.ndarray,
    layout: str,
    block_table: np.ndarray | None,
    request: int,
    head: int,
    positions: np.ndarray,
) -> np.ndarray:
    """Float32 logits of one packed index query [rank / 8] against some tokens; the same bits everywhere."""
    keys = unpack_int4(layouts.gather_tokens(key_cache, layout, block_table, request, head, positions))
    scales = layouts.gather_scales(key_scale, layout, block_table, request, head, positions)
    dots = keys.astype(np.int32) @ unpack_int4(query).astype(np.int32)
    return dots.astype(np.float32) * (np.float32(query_scale) * scales.astype(np.float32))


def logsumexp(logits: np.ndarray) -> np.floating:
    """``m + ln(sum exp(logit - m))`` in the dtype of `logits`; -inf when every logit is."""
    maximum = logits.max()
    if np.isneginf(maximum):
        return maximum
    return maximum + np.log(np.exp(logits - maximum).sum(dtype=logits.dtype))


def block_scores(
    query: np.ndarray,
    query_scale: np.ndarray,
    key_cache: np.ndarray,
    key_scale: np.ndarray,
    seq_lens: np.ndarray,
    *,
    query_lens: np.ndarray | None = None,
    query_start_loc: np.ndarray | None = None,
    block_table: np.ndarray | None = None,
    max_seq_len: int,
    block_size: int = selection.SelectionParams.block_size,
    layout: str = "PA_BNSD",
    query_layout: str = "BSND",
    dtype: type = np.float64,
    reduce: Callable[[np.ndarray], np.floating] = logsumexp,
) -> np.ndarray:
    """Score of every block of every row, sinks and tail too.

    Parameters
    ----------
    query : int32 array, shape (batch, s_q, n_idx, rank / 8) or (tokens, n_idx, rank / 8)
        Packed int4 index queries. A BSND token axis of 1 is one list per request: the newest token's view.
    query_scale : float32 array, shape (batch, s_q, n_idx) or (tokens, n_idx)
    key_cache : int32 array
        Packed int4 index keys in `layout`.
    key_scale : float32 array
        Scales per token and head.
    seq_lens : int32 array, shape (batch,)
        Cached tokens of each request; 0 or less is a padded request.
    query_lens, query_start_loc, block_table, max_seq_len, block_size, layout, query_layout
        As in ``sals::qsi``.
    dtype : numpy dtype
        Arithmetic after the (always float32) logits: float64 is the golden value, float32 one legal
        implementation of the definition.
    reduce : callable
        What becomes of a block's logits: their log-sum-exp, or for the study of rounding ``np.max``.

    Returns
    -------
    array of `dtype`, shape (batch, s_q, n_idx, ceil(max_seq_len / block_size)) or (tokens, n_idx, ...)
        -inf beyond the blocks of a row and in padding rows.
    """
    flat_query = rows.flatten_tokens(query, query_layout)
    flat_scale = rows.flatten_tokens(query_scale, query_layout)
    n_idx = flat_query.shape[1]
    scores = np.full((*flat_query.shape[:2], selection.num_blocks(max_seq_len, block_size)), -np.inf, dtype)
    list_s_q = query.shape[1] if query_layout == "BSND" else None
    for row, request, visible in rows.list_tokens(
        seq_lens, list_s_q=list_s_q, query_lens=query_lens, query_start_loc=query_start_loc
    ):
        if visible > max_seq_len:
            raise ValueError(f"seq_lens must be at most max_seq_len = {max_seq_len}, got {visible}")
        for head in range(n_idx if visible > 0 else 0):
            logits: np.ndarray = token_logits(
                flat_query[row, head], flat_scale[row, head], key_cache, key_scale, layout, block_table,
                request, head, np.arange(visible),
            ).astype(dtype)  # fmt: skip
            for block in range(selection.num_blocks(visible, block_size)):
                first = block * block_size
                scores[row, head, block] = reduce(logits[first : first + block_size])
    return scores.reshape(*query.shape[:-1], scores.shape[-1])


def select_from_scores(
    scores: np.ndarray,
    seq_lens: np.ndarray,
    params: selection.SelectionParams,
    *,
    query_lens: np.ndarray | None = None,
    query_start_loc: np.ndarray | None = None,
    max_seq_len: int,
    query_layout: str = "BSND",
) -> tuple[np.ndarray, np.ndarray]:
    """Apply the selection rule to the float32 scores that an implementation of `block_scores` returned.

    Returns
    -------
    block_ids : int32 array, shape (batch, s_q, n_idx, width) or (tokens, n_idx, width)
        Padded with -1.
    selected_lens : int32 array, the shape without width
        Visible tokens in the listed blocks.
    """
    scores = np.asarray(scores)
    flat = rows.flatten_tokens(scores, query_layout)
    block_ids = np.full((*flat.shape[:2], selection.width(max_seq_len, params)), INVALID_BLOCK, np.int32)
    selected_lens = np.zeros(flat.shape[:2], np.int32)
    list_s_q = scores.shape[1] if query_layout == "BSND" else None
    for row, _, visible in rows.list_tokens(
        seq_lens, list_s_q=list_s_q, query_lens=query_lens, query_start_loc=query_start_loc
    ):
        for head in range(flat.shape[1]):
            ids = selection.select(flat[row, head], visible, params)
            block_ids[row, head, : len(ids)] = ids
            selected_lens[row, head] = selection.selected_len(ids, visible, params.block_size)
    shape = scores.shape[:-1]
    return block_ids.reshape(*shape, block_ids.shape[-1]), selected_lens.reshape(shape)


def qsi(
    query: np.ndarray,
    query_scale: np.ndarray,
    key_cache: np.ndarray,
    key_scale: np.ndarray,
    seq_lens: np.ndarray,
    *,
    query_lens: np.ndarray | None = None,
    query_start_loc: np.ndarray | None = None,
    block_table: np.ndarray | None = None,
    max_seq_len: int,
    layout: str = "PA_BNSD",
    query_layout: str = "BSND",
    **selection_args: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Score all blocks in float32 and select; arguments and results as in ``sals::qsi``.

    A plan is not an argument: it divides the work and changes no result (see `sals.reference.plan`).
    `selection_args` are the fields of `SelectionParams`.
    """
    params = selection.SelectionParams(**selection_args)
    batch: dict[str, Any] = {
        "query_lens": query_lens,
        "query_start_loc": query_start_loc,
        "max_seq_len": max_seq_len,
    }
    scores = block_scores(
        query, query_scale, key_cache, key_scale, seq_lens, **batch, block_table=block_table,
        block_size=params.block_size, layout=layout, query_layout=query_layout, dtype=np.float32,
    )  # fmt: skip
    return select_from_scores(scores, seq_lens, params, **batch, query_layout=query_layout)
