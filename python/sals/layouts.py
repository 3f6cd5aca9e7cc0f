# SPDX-License-Identifier: Apache-2.0
"""Shapes of the caches in every layout; ``include/sals/kv_layout.h`` says which byte stands where.

``num_pages`` and ``page_size`` of the dense layout BSND are the batch and the longest length: a request is
its own page.
"""

from __future__ import annotations

from sals import _core
from sals._contract import INT4_PER_WORD, KV_LAYOUTS, PLANE_BYTES

_TOKEN_MAJOR = frozenset({"BSND", "PA_BSND"})


def is_paged(layout: str) -> bool:
    """Whether caches of this layout go with a block table."""
    _check_layout(layout)
    return layout != "BSND"


def index_layout(layout: str) -> str:
    """Layout of the index keys beside KV caches of `layout`; PA_KV pairs K with V, an index has no pair."""
    _check_layout(layout)
    return "PA_NZ" if layout == "PA_KV" else layout


def kv_cache_shape(layout: str, num_pages: int, page_size: int, n_kv: int, head_dim: int) -> tuple[int, ...]:
    """Shape of an int8 key or value cache, of the joint cache for PA_KV.

    Rows are as long as the NPU kernels read them: a head_dim of 80, 96 or 192 is padded to 128 or 256.
    """
    row = int(_core.padded_head_dim(head_dim))
    return _cache_shape(layout, num_pages, page_size, n_kv, row, plane=PLANE_BYTES)


def index_cache_shape(layout: str, num_pages: int, page_size: int, n_idx: int, rank: int) -> tuple[int, ...]:
    """Shape of the int32 index key cache (eight int4 codes a word) beside a KV cache of `layout`.

    Raises
    ------
    ValueError
        If rank is not a multiple of 8, or of 64 in PA_NZ and PA_KV, whose planes hold 64 codes.
    """
    layout = index_layout(layout)
    plane = PLANE_BYTES // 4
    multiple = plane * INT4_PER_WORD if layout == "PA_NZ" else INT4_PER_WORD
    if rank <= 0 or rank % multiple:
        raise ValueError(
            f"sals.layouts: rank must be a positive multiple of {multiple} with an index cache in {layout}, "
            f"got {rank}"
        )
    return _cache_shape(layout, num_pages, page_size, n_idx, rank // INT4_PER_WORD, plane)


def token_scale_shape(layout: str, num_pages: int, page_size: int, heads: int) -> tuple[int, ...]:
    """Shape of the fp32 scales per token and head: the cache's without its inner axes."""
    _check_layout(layout)
    if layout in _TOKEN_MAJOR:
        return num_pages, page_size, heads
    return num_pages, heads, page_size


def _cache_shape(
    layout: str, num_pages: int, page_size: int, heads: int, row: int, plane: int
) -> tuple[int, ...]:
    """Shape of a cache whose rows have `row` elements, `plane` of them in a plane of PA_NZ and PA_KV."""
    _check_layout(layout)
    if layout in _TOKEN_MAJOR:
        return num_pages, page_size, heads, row
    if layout == "PA_BNSD":
        return num_pages, heads, page_size, row
    pair = (2,) if layout == "PA_KV" else ()
    return num_pages, heads, *pair, row // plane, page_size, plane


def _check_layout(layout: str) -> None:
    if layout not in KV_LAYOUTS:
        raise ValueError(f"sals.layouts: layout must be one of {', '.join(KV_LAYOUTS)}, got {layout!r}")
