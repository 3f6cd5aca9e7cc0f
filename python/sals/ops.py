# SPDX-License-Identifier: Apache-2.0
"""The operators, documented. Each function calls one operator of ``torch.ops.sals``.

Vocabulary: ``batch`` requests with ``s_q`` query tokens each (layout BSND) or ``tokens`` query tokens end
to end (layout TND, split by ``query_start_loc``); ``n_q`` query heads in ``n_kv`` groups; ``n_idx`` index
heads, ``n_kv`` or 1; caches in ``pages`` of ``page_size`` tokens, addressed by ``block_table``;
``block_size`` tokens are chosen or left out together. Lengths, ids, slots and tables are int32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sals.selection import Selection

__all__ = [
    "block_scores",
    "plan_attention",
    "plan_selection",
    "project_query",
    "select_blocks",
    "sparse_attention",
    "write_cache",
]

DEFAULT_SELECTION = Selection()


def plan_selection(
    seq_lens: Tensor,
    *,
    n_idx: int,
    max_seq_len: int,
    selection: Selection = DEFAULT_SELECTION,
    s_q: int = 1,
    query_lens: Tensor | None = None,
    query_start_loc: Tensor | None = None,
    query_layout: str = "BSND",
    num_cores: int = 0,
) -> Tensor:
    """Divide the work of :func:`select_blocks` evenly over cores.

    A plan is optional and never changes a result of the indexer. It depends on lengths only, so one plan
    serves every layer of a decoding step.

    Parameters
    ----------
    seq_lens : Tensor[int32], shape (batch,)
        Tokens of each request, the new ones included; <= 0 marks a padding request.
    n_idx : int
        Index heads.
    max_seq_len : int
        Upper bound of ``seq_lens``.
    selection : Selection
        As given to :func:`select_blocks`.
    s_q : int
        Token axis of the index query (BSND).
    query_lens : Tensor[int32], shape (batch,), optional
        Real query tokens of each request (BSND).
    query_start_loc : Tensor[int32], shape (batch + 1,), optional
        First token of each request, cumulative (TND).
    query_layout : {"BSND", "TND"}
    num_cores : int
        Cores to plan for, 1 to 64; 0 means those of the device (on CPU: the threads of PyTorch).

    Returns
    -------
    Tensor[int32], shape (512,)
        The plan; :class:`sals.plan_view.PlanView` reads it.

    Raises
    ------
    ValueError
        If an argument breaks a rule; the message names it.
    """
    return torch.ops.sals.qsi_plan(
        seq_lens,
        query_lens=query_lens,
        query_start_loc=query_start_loc,
        n_idx=n_idx,
        s_q=s_q,
        max_seq_len=max_seq_len,
        query_layout=query_layout,
        num_cores=num_cores,
        **selection.plan_arguments(),
    )


def select_blocks(
    query: Tensor,
    query_scale: Tensor,
    key_cache: Tensor,
    key_scale: Tensor,
    seq_lens: Tensor,
    *,
    max_seq_len: int,
    selection: Selection = DEFAULT_SELECTION,
    block_table: Tensor | None = None,
    query_lens: Tensor | None = None,
    query_start_loc: Tensor | None = None,
    plan: Tensor | None = None,
    layout: str = "PA_BNSD",
    query_layout: str = "BSND",
) -> tuple[Tensor, Tensor]:
    r"""Score every block of past tokens on the int4 index and choose the best exactly (QSI).

    The score of a block is the log-sum-exp of its tokens' logits,
    ``logit_j = dot(query, key_j) * (query_scale * key_scale_j)``; the softmax scale is part of
    ``query_scale``. Higher scores are chosen first, equal scores by lower block id; NaN counts as -inf.

    Parameters
    ----------
    query : Tensor[int32], shape (batch, s_q or 1, n_idx, rank/8) or (tokens, n_idx, rank/8)
        int4, eight to a word, low nibble first; :func:`project_query` makes it. A token axis of 1 with
        several query tokens asks for one list per request.
    query_scale : Tensor[float32], query.shape[:-1]
    key_cache : Tensor[int32]
        int4 index: PA_BNSD (pages, n_idx, page_size, rank/8), PA_BSND (pages, page_size, n_idx, rank/8),
        PA_NZ (pages, n_idx, rank/64, page_size, 8) or BSND (batch, max_len, n_idx, rank/8).
    key_scale : Tensor[float32]
        One scale per token and head, laid out as ``key_cache`` without its inner axes; PA_NZ:
        (pages, n_idx, page_size).
    seq_lens : Tensor[int32], shape (batch,)
        As in :func:`plan_selection`. Query token s of q_len sees ``seq_len - q_len + 1 + s`` tokens.
    max_seq_len : int
        Upper bound of ``seq_lens``; fixes the width of the result.
    selection : Selection
    block_table : Tensor[int32], shape (batch, max_pages), optional
        Pages of each request; required by the paged layouts.
    query_lens, query_start_loc, query_layout
        As in :func:`plan_selection`.
    plan : Tensor[int32], optional
        From :func:`plan_selection`.
    layout : {"PA_BNSD", "PA_BSND", "PA_NZ", "BSND"}

    Returns
    -------
    block_ids : Tensor[int32], shape (batch, s_q or 1, n_idx, width) or (tokens, n_idx, width)
        Chosen blocks of each row, padded with -1.
    selected_lens : Tensor[int32], block_ids.shape[:-1]
        Tokens in those blocks.

    Raises
    ------
    ValueError
        If an argument breaks a rule. On CPU also if a length or page number leads outside the cache.

    Notes
    -----
    Exact for every length and budget, and the same bits for any plan and thread count.

    References
    ----------
    SALS, arXiv:2510.24273.
    """
    return torch.ops.sals.qsi(
        query,
        query_scale,
        key_cache,
        key_scale,
        seq_lens,
        query_lens=query_lens,
        query_start_loc=query_start_loc,
        block_table=block_table,
        plan=plan,
        max_seq_len=max_seq_len,
        layout=layout,
        query_layout=query_layout,
        **selection.arguments(),
    )


def block_scores(
    query: Tensor,
    query_scale: Tensor,
    key_cache: Tensor,
    key_scale: Tensor,
    seq_lens: Tensor,
    *,
    max_seq_len: int,
    block_size: int = Selection.block_size,
    block_table: Tensor | None = None,
    query_lens: Tensor | None = None,
    query_start_loc: Tensor | None = None,
    layout: str = "PA_BNSD",
    query_layout: str = "BSND",
) -> Tensor:
    """Return the scores on which :func:`select_blocks` decides, for study and tests.

    Parameters
    ----------
    query, query_scale, key_cache, key_scale, seq_lens, max_seq_len, block_table, query_lens
        As in :func:`select_blocks`; so are ``query_start_loc``, ``layout`` and ``query_layout``.
    block_size : int
        Tokens per block.

    Returns
    -------
    Tensor[float32], shape query.shape[:-1] + (ceil(max_seq_len / block_size),)
        Score of every block, sinks and tail included; -inf behind the last block of a row.

    Raises
    ------
    ValueError
        As :func:`select_blocks`.
    """
    return torch.ops.sals.block_scores(
        query,
        query_scale,
        key_cache,
        key_scale,
        seq_lens,
        query_lens=query_lens,
        query_start_loc=query_start_loc,
        block_table=block_table,
        max_seq_len=max_seq_len,
        block_size=block_size,
        layout=layout,
        query_layout=query_layout,
    )


def plan_attention(
    seq_lens: Tensor,
    *,
    n_kv: int,
    group: int,
    max_seq_len: int,
    selection: Selection = DEFAULT_SELECTION,
    s_q: int = 1,
    shared_list: bool = False,
    query_lens: Tensor | None = None,
    query_start_loc: Tensor | None = None,
    query_layout: str = "BSND",
    num_cores: int = 0,
) -> Tensor:
    """Divide the work of :func:`sparse_attention` evenly over cores.

    In budget mode the listed tokens follow from ``seq_lens``, so the plan can be made before the selection;
    in coverage mode the plan assumes the largest number of blocks that a row may keep.

    Parameters
    ----------
    seq_lens, max_seq_len, selection, s_q, query_lens, query_start_loc, query_layout, num_cores
        As in :func:`plan_selection`.
    n_kv : int
        KV heads.
    group : int
        Query heads per KV head.
    shared_list : bool
        Whether one list serves all query tokens of a request.

    Returns
    -------
    Tensor[int32], shape (512,)

    Raises
    ------
    ValueError
        If an argument breaks a rule; the message names it.
    """
    return torch.ops.sals.sfaa_plan(
        seq_lens,
        query_lens=query_lens,
        query_start_loc=query_start_loc,
        n_kv=n_kv,
        group=group,
        s_q=s_q,
        shared_list=shared_list,
        max_seq_len=max_seq_len,
        query_layout=query_layout,
        num_cores=num_cores,
        **selection.plan_arguments(),
    )


def sparse_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor | None,
    key_scale: Tensor,
    value_scale: Tensor,
    block_ids: Tensor,
    selected_lens: Tensor,
    seq_lens: Tensor,
    *,
    scale: float,
    block_size: int = Selection.block_size,
    block_table: Tensor | None = None,
    query_lens: Tensor | None = None,
    query_start_loc: Tensor | None = None,
    plan: Tensor | None = None,
    layout: str = "PA_BNSD",
    query_layout: str = "BSND",
    causal: bool = True,
    return_lse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attend to the listed blocks of an int8 KV cache (SFAA).

    ``out = softmax(scale * q K^T) V`` over the tokens of the listed blocks, computed on the int8 rows
    themselves: query and probabilities are split into two int8 terms (docs/explanation/numerics.md).

    Parameters
    ----------
    query : Tensor[float16, bfloat16 or float32], shape (batch, s_q, n_q, head_dim) or (tokens, n_q, head_dim)
        head_dim 64, 80, 96, 128, 192 or 256.
    key_cache, value_cache : Tensor[int8]
        PA_BNSD (pages, n_kv, page_size, head_dim), PA_BSND (pages, page_size, n_kv, head_dim),
        PA_NZ (pages, n_kv, head_dim/32, page_size, 32), BSND (batch, max_len, n_kv, head_dim); or PA_KV
        (pages, n_kv, 2, head_dim/32, page_size, 32) as ``key_cache`` with ``value_cache`` None. Rows may be
        padded with zeros to 64, 128 or 256 channels.
    key_scale, value_scale : Tensor[float32]
        Shape (n_kv, head_dim): static, per channel. Three axes: one scale per token and head, laid out as
        the cache without its inner axes (PA_NZ and PA_KV: (pages, n_kv, page_size)).
    block_ids : Tensor[int32], shape (batch, s_q or 1, n_kv or 1, width) or (tokens, n_kv or 1, width)
        Blocks of each row. -1 is skipped wherever it stands, a block is clipped at the visible length, an id
        counts as often as it is listed.
    selected_lens : Tensor[int32], block_ids.shape[:-1]
        Listed tokens of each row; used for balance only.
    seq_lens, query_lens, query_start_loc, query_layout
        As in :func:`select_blocks`.
    scale : float
        Softmax scale, usually head_dim ** -0.5.
    block_size : int
        Tokens per block.
    block_table : Tensor[int32], shape (batch, max_pages), optional
        Required by the paged layouts.
    plan : Tensor[int32], optional
        From :func:`plan_attention`.
    layout : {"PA_BNSD", "PA_BSND", "PA_NZ", "PA_KV", "BSND"}
    causal : bool
        Whether query token s of q_len sees only ``seq_len - q_len + 1 + s`` tokens, or all.
    return_lse : bool
        Whether to return the log-sum-exp of the scaled logits.

    Returns
    -------
    out : Tensor, as query
        A row without any token is zero.
    lse : Tensor[float32], shape query.shape[:-1]
        Natural logarithm; -inf for a row without any token. Empty unless ``return_lse``.

    Raises
    ------
    ValueError
        If an argument breaks a rule. On CPU also if a length, page or block id leads outside the request.

    Notes
    -----
    The same bits for any thread count, for the same plan, and under any placement of pages; without a plan
    also for any slicing of the batch.
    """
    return torch.ops.sals.sfaa(
        query,
        key_cache,
        value_cache,
        key_scale,
        value_scale,
        block_ids,
        selected_lens,
        seq_lens,
        query_lens=query_lens,
        query_start_loc=query_start_loc,
        block_table=block_table,
        plan=plan,
        scale=scale,
        block_size=block_size,
        layout=layout,
        query_layout=query_layout,
        causal=causal,
        return_lse=return_lse,
    )


def project_query(query: Tensor, projection: Tensor, *, n_idx: int, scale: float) -> tuple[Tensor, Tensor]:
    """Make the index query: mean over each query group, projection, int4.

    Parameters
    ----------
    query : Tensor[float16, bfloat16 or float32], shape (batch, s_q, n_q, head_dim) or (tokens, n_q, head_dim)
        Rotated or not, as the index keys are.
    projection : Tensor[float32], shape (n_idx, in_dim, rank)
        in_dim is head_dim, or n_kv * head_dim for one joint index head.
    n_idx : int
        Index heads: n_kv, or 1.
    scale : float
        Softmax scale; it becomes part of ``query_scale``.

    Returns
    -------
    packed : Tensor[int32], shape (..., n_idx, rank/8)
        int4 codes ``rint(latent / (amax / 7))``.
    query_scale : Tensor[float32], shape (..., n_idx)
        ``amax / 7 * scale``; 0 where the latent is zero.

    Raises
    ------
    ValueError
        If an argument breaks a rule; the message names it.
    """
    return torch.ops.sals.project_query(query, projection, n_idx=n_idx, scale=scale)


def write_cache(
    key: Tensor,
    value: Tensor,
    index_key: Tensor,
    projection: Tensor,
    slot_mapping: Tensor,
    key_cache: Tensor,
    value_cache: Tensor | None,
    index_cache: Tensor,
    index_scale: Tensor,
    key_scale: Tensor,
    value_scale: Tensor,
    *,
    layout: str = "PA_BNSD",
    static_scales: bool = False,
) -> None:
    """Quantise new tokens into the caches, in place.

    Parameters
    ----------
    key, value, index_key : Tensor[float16, bfloat16 or float32], shape (tokens, n_kv, head_dim)
        ``index_key`` is the key as the index sees it: rotated or not.
    projection : Tensor[float32], shape (n_idx, in_dim, rank)
        As in :func:`project_query`.
    slot_mapping : Tensor[int32], shape (tokens,)
        ``page * page_size + offset`` of each token (BSND: ``request * max_len + position``); -1 leaves the
        token out. Of two tokens with one slot the later wins.
    key_cache, value_cache, key_scale, value_scale
        As in :func:`sparse_attention`.
    index_cache, index_scale
        ``key_cache`` and ``key_scale`` of :func:`select_blocks`, in the same layout (PA_NZ for PA_KV).
    static_scales : bool
        True: quantise with the given (n_kv, head_dim) scales. False: write ``amax / 127`` of each token and
        head into the scales.

    Raises
    ------
    ValueError
        If an argument breaks a rule. On CPU also if a slot lies outside the cache.
    """
    torch.ops.sals.write_cache(
        key,
        value,
        index_key,
        projection,
        slot_mapping,
        key_cache,
        value_cache,
        index_cache,
        index_scale,
        key_scale,
        value_scale,
        layout=layout,
        static_scales=static_scales,
    )
