# SPDX-License-Identifier: Apache-2.0
"""Where each element of a cache lies, for every layout.

A cache holds, per token and head, one row of ``columns`` elements: int8 codes of a key or value, or int32
words of eight int4 codes of an index key. A *plane* is 32 bytes of a row: 32 int8 codes, or 8 words = 64
int4 codes. Element (token, head, column) has these coordinates:

========  ==================================================  ====================================
layout    shape                                               element
========  ==================================================  ====================================
PA_BNSD   [pages, heads, page_size, columns]                  [page, head, offset, column]
PA_BSND   [pages, page_size, heads, columns]                  [page, offset, head, column]
PA_NZ     [pages, heads, planes, page_size, plane size]       [page, head, plane, offset, place]
PA_KV     [pages, heads, 2, planes, page_size, plane size]    [page, head, K/V, plane, offset, place]
BSND      [batch, max_len, heads, columns]                    [request, token, head, column]
========  ==================================================  ====================================

with ``plane, place = divmod(column, plane size)``, and 0 for K, 1 for V.

In the paged layouts ``page = block_table[request, token // page_size]`` and ``offset = token % page_size``.
Scales per token and head are laid out as the cache without its inner axes.
"""

from __future__ import annotations

import numpy as np

from sals._contract import KV_LAYOUTS, PLANE_BYTES

KEY, VALUE = 0, 1


def _check_layout(layout: str) -> None:
    if layout not in KV_LAYOUTS:
        raise ValueError(f"layout must be one of {tuple(KV_LAYOUTS)}, got {layout!r}")


def plane_elements(dtype: np.dtype | type) -> int:
    """Elements of one plane: 32 for int8 codes, 8 for int32 words."""
    return PLANE_BYTES // np.dtype(dtype).itemsize


def cache_shape(
    layout: str, num_pages: int, page_size: int, heads: int, columns: int, dtype: np.dtype | type
) -> tuple[int, ...]:
    """Shape of a cache. For the dense layout, `num_pages` is the batch and `page_size` the longest length."""
    _check_layout(layout)
    plane = plane_elements(dtype)
    if layout in ("PA_NZ", "PA_KV") and columns % plane:
        raise ValueError(f"{layout} needs rows of whole planes of {plane} elements, got {columns}")
    return {
        "PA_BNSD": (num_pages, heads, page_size, columns),
        "PA_BSND": (num_pages, page_size, heads, columns),
        "PA_NZ": (num_pages, heads, columns // plane, page_size, plane),
        "PA_KV": (num_pages, heads, 2, columns // plane, page_size, plane),
        "BSND": (num_pages, page_size, heads, columns),
    }[layout]


def scale_shape(layout: str, num_pages: int, page_size: int, heads: int) -> tuple[int, ...]:
    """Shape of the scales per token and head that go with a cache of this layout."""
    _check_layout(layout)
    token_major = layout in ("PA_BSND", "BSND")
    return (num_pages, page_size, heads) if token_major else (num_pages, heads, page_size)


def index_layout(layout: str) -> str:
    """Layout of the index keys beside KV caches of `layout`; PA_KV pairs K with V, an index has no pair."""
    _check_layout(layout)
    return "PA_NZ" if layout == "PA_KV" else layout


def page_size_of(cache: np.ndarray, layout: str) -> int:
    """Tokens of a page, read from the shape (for the dense layout, the longest length)."""
    _check_layout(layout)
    return cache.shape[{"PA_BNSD": 2, "PA_BSND": 1, "PA_NZ": 3, "PA_KV": 4, "BSND": 1}[layout]]


def heads_of(cache: np.ndarray, layout: str) -> int:
    """Heads of a cache, read from its shape."""
    _check_layout(layout)
    return cache.shape[2 if layout in ("PA_BSND", "BSND") else 1]


def locate(
    layout: str, block_table: np.ndarray | None, request: int, positions: np.ndarray, page_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Page and offset of token positions; for the dense layout, the request itself and the position."""
    positions = np.asarray(positions, dtype=np.int64)
    if layout == "BSND":
        return np.full_like(positions, request), positions
    assert block_table is not None
    return np.asarray(block_table)[request, positions // page_size].astype(np.int64), positions % page_size


def element_index(
    layout: str,
    page: np.ndarray,
    offset: np.ndarray,
    head: int,
    columns: int,
    plane: int,
    component: int = KEY,
) -> tuple[np.ndarray | int, ...]:
    """Index tuple that reads or writes whole rows: broadcast shape (tokens, columns)."""
    page, offset = page[:, None], offset[:, None]
    column = np.arange(columns)[None, :]
    match layout:
        case "PA_BNSD":
            return page, head, offset, column
        case "PA_BSND" | "BSND":
            return page, offset, head, column
        case "PA_NZ":
            return page, head, column // plane, offset, column % plane
        case "PA_KV":
            return page, head, component, column // plane, offset, column % plane
        case _:
            raise ValueError(f"layout must be one of {tuple(KV_LAYOUTS)}, got {layout!r}")


def columns_of(cache: np.ndarray, layout: str) -> int:
    """Elements of a token's row."""
    return cache.shape[-1] * cache.shape[-3] if layout in ("PA_NZ", "PA_KV") else cache.shape[-1]


def gather_tokens(
    cache: np.ndarray,
    layout: str,
    block_table: np.ndarray | None,
    request: int,
    head: int,
    positions: np.ndarray,
    component: int = KEY,
) -> np.ndarray:
    """Rows of some tokens of one request and head.

    Parameters
    ----------
    cache : int8 or int32 array
        A cache in `layout`; int32 words hold eight int4 codes.
    positions : int array, shape (tokens,)
        Token positions within the request, in any order, repeats allowed.
    component : int
        KEY or VALUE; only PA_KV, whose cache holds both, looks at it.

    Returns
    -------
    array, shape (tokens, columns), dtype of `cache`
    """
    page, offset = locate(layout, block_table, request, positions, page_size_of(cache, layout))
    plane = plane_elements(cache.dtype)
    return cache[element_index(layout, page, offset, head, columns_of(cache, layout), plane, component)]


def scatter_tokens(
    cache: np.ndarray,
    layout: str,
    page: np.ndarray,
    offset: np.ndarray,
    head: int,
    rows: np.ndarray,
    component: int = KEY,
) -> None:
    """Write rows [tokens, columns] of one head at distinct pages and offsets, in place."""
    plane = plane_elements(cache.dtype)
    cache[element_index(layout, page, offset, head, rows.shape[1], plane, component)] = rows


def scale_index(layout: str, page: np.ndarray, offset: np.ndarray, head: int) -> tuple[np.ndarray | int, ...]:
    """Index tuple of scales per token and head."""
    return (page, offset, head) if layout in ("PA_BSND", "BSND") else (page, head, offset)


def gather_scales(
    scales: np.ndarray,
    layout: str,
    block_table: np.ndarray | None,
    request: int,
    head: int,
    positions: np.ndarray,
) -> np.ndarray:
    """Scales per token and head of some tokens: shape (tokens,)."""
    page_size = scales.shape[1 if layout in ("PA_BSND", "BSND") else 2]
    page, offset = locate(layout, block_table, request, positions, page_size)
    return scales[scale_index(layout, page, offset, head)]


def fill_cache(
    cache: np.ndarray,
    layout: str,
    block_table: np.ndarray | None,
    dense: np.ndarray,
    seq_lens: np.ndarray,
    component: int = KEY,
) -> None:
    """Copy dense rows [batch, max_len, heads, columns] into a cache, request by request, up to seq_lens."""
    page_size = page_size_of(cache, layout)
    for request, seq_len in enumerate(np.asarray(seq_lens).tolist()):
        positions = np.arange(max(seq_len, 0))
        page, offset = locate(layout, block_table, request, positions, page_size)
        for head in range(dense.shape[2]):
            scatter_tokens(cache, layout, page, offset, head, dense[request, positions, head], component)


def fill_scales(
    scales: np.ndarray, layout: str, block_table: np.ndarray | None, dense: np.ndarray, seq_lens: np.ndarray
) -> None:
    """Copy dense scales [batch, max_len, heads] into a paged scale tensor, up to seq_lens."""
    page_size = scales.shape[1 if layout in ("PA_BSND", "BSND") else 2]
    for request, seq_len in enumerate(np.asarray(seq_lens).tolist()):
        positions = np.arange(max(seq_len, 0))
        page, offset = locate(layout, block_table, request, positions, page_size)
        for head in range(dense.shape[2]):
            scales[scale_index(layout, page, offset, head)] = dense[request, positions, head]
