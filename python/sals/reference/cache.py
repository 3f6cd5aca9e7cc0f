# SPDX-License-Identifier: Apache-2.0
"""Writing new tokens into the caches: int8 keys and values, int4 index keys, and their scales."""

from __future__ import annotations

import numpy as np

from sals._contract import INVALID_SLOT
from sals.reference import layouts
from sals.reference.int4 import pack_int4
from sals.reference.projection import project
from sals.reference.quantize import quantize_int4, quantize_int8_per_token, quantize_int8_static


def write_cache(
    key: np.ndarray,
    value: np.ndarray,
    index_key: np.ndarray,
    projection: np.ndarray,
    slot_mapping: np.ndarray,
    key_cache: np.ndarray,
    value_cache: np.ndarray | None,
    index_cache: np.ndarray,
    index_scale: np.ndarray,
    key_scale: np.ndarray,
    value_scale: np.ndarray,
    *,
    layout: str,
    static_scales: bool,
) -> None:
    """Quantise tokens and write them at their slots, in place.

    Parameters
    ----------
    key, value, index_key : float32 array, shape (tokens, n_kv, head_dim)
        `index_key` is what calibration chose to index: the rotated key or the one before RoPE.
    projection : float32 array, shape (n_idx, in_dim, rank)
        See `sals.reference.projection.project`.
    slot_mapping : int32 array, shape (tokens,)
        ``page * page_size + offset``, in a dense cache ``request * max_len + token``. -1 skips the token.
        Of two tokens with the same slot the later one wins.
    key_cache, value_cache, index_cache : int8, int8 or None, int32 array
        In `layout`; for PA_KV the joint cache, None, and an index cache in PA_NZ. Rows of a KV cache may be
        longer than head_dim: the padding is written as zeros.
    index_scale : float32 array
        Per token and head; written.
    key_scale, value_scale : float32 array
        With `static_scales` (n_kv, head_dim), only read; else per token and head, written.
    """
    writer = {slot: token for token, slot in enumerate(slot_mapping.tolist()) if slot != INVALID_SLOT}
    kept = np.array(list(writer.values()), dtype=np.int64)
    slots = np.array(list(writer.keys()), dtype=np.int64)
    page, offset = np.divmod(slots, layouts.page_size_of(key_cache, layout))
    targets = (
        (key_cache, key_scale, key[kept], layouts.KEY),
        (key_cache if value_cache is None else value_cache, value_scale, value[kept], layouts.VALUE),
    )
    for cache, scale, new, component in targets:
        if static_scales:
            codes = quantize_int8_static(new, scale)
        else:
            codes, token_scale = quantize_int8_per_token(new)
            _write_scales(scale, layout, page, offset, token_scale)
        padding = layouts.columns_of(cache, layout) - codes.shape[-1]
        codes = np.pad(codes, ((0, 0), (0, 0), (0, padding)))
        _write_rows(cache, layout, page, offset, codes, component)
    codes, token_scale = quantize_int4(project(index_key[kept], projection))
    _write_rows(index_cache, layouts.index_layout(layout), page, offset, pack_int4(codes), layouts.KEY)
    _write_scales(index_scale, layout, page, offset, token_scale)


def _write_rows(
    cache: np.ndarray, layout: str, page: np.ndarray, offset: np.ndarray, rows: np.ndarray, component: int
) -> None:
    for head in range(rows.shape[1]):
        layouts.scatter_tokens(cache, layout, page, offset, head, rows[:, head], component)


def _write_scales(
    scales: np.ndarray, layout: str, page: np.ndarray, offset: np.ndarray, new: np.ndarray
) -> None:
    for head in range(new.shape[1]):
        scales[layouts.scale_index(layout, page, offset, head)] = new[:, head]
