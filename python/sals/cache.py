# SPDX-License-Identifier: Apache-2.0
"""The caches of one layer: int8 keys and values, the int4 index of the keys, and their scales."""

from __future__ import annotations

import dataclasses
import math

import torch
from torch import Tensor

from sals import huge_pages, layouts
from sals.ops import write_cache


@dataclasses.dataclass(frozen=True)
class CacheSpec:
    """Dimensions of the caches of one layer.

    Parameters
    ----------
    layout : str
        PA_BNSD, PA_BSND, PA_NZ, PA_KV (K and V in one tensor) or BSND (dense, no block table).
    num_pages, page_size : int
        Pages, and tokens of a page. In BSND the batch and the longest length.
    n_kv, head_dim : int
        KV heads and their width.
    n_idx, rank : int
        Index heads (``n_kv``, or 1 for a joint index) and their width.
    """

    layout: str
    num_pages: int
    page_size: int
    n_kv: int
    head_dim: int
    n_idx: int
    rank: int

    def allocate(self, device: torch.device | str = "cpu") -> LayerCache:
        """Allocate the caches, filled with zeros; no tensor grows afterwards."""
        pages = (self.layout, self.num_pages, self.page_size)
        kv_shape = layouts.kv_cache_shape(*pages, self.n_kv, self.head_dim)
        scale_shape = layouts.token_scale_shape(*pages, self.n_kv)
        index_shape = layouts.index_cache_shape(*pages, self.n_idx, self.rank)
        return LayerCache(
            layout=self.layout,
            key=huge_pages.zeros(kv_shape, torch.int8, device),
            value=None if self.layout == "PA_KV" else huge_pages.zeros(kv_shape, torch.int8, device),
            index=huge_pages.zeros(index_shape, torch.int32, device),
            index_scale=huge_pages.zeros(
                layouts.token_scale_shape(*pages, self.n_idx), torch.float32, device
            ),
            key_scale=huge_pages.zeros(scale_shape, torch.float32, device),
            value_scale=huge_pages.zeros(scale_shape, torch.float32, device),
        )

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of one token's keys and values in one layer: ``n_kv * (2 * row + 8)``.

        ``row`` is head_dim padded to 64, 128 or 256: two int8 rows with their fp32 scales.
        """
        row = math.prod(layouts.kv_cache_shape(self.layout, 1, 1, self.n_kv, self.head_dim))
        both_rows = row if self.layout == "PA_KV" else 2 * row
        return both_rows + 4 * 2 * self.n_kv

    @property
    def index_bytes_per_token(self) -> int:
        """Bytes of one token's index in one layer: ``n_idx * (rank / 2 + 4)``, int4 rows with fp32 scales."""
        words = math.prod(layouts.index_cache_shape(self.layout, 1, 1, self.n_idx, self.rank))
        return 4 * (words + self.n_idx)

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one token takes in the caches of one layer."""
        return self.kv_bytes_per_token + self.index_bytes_per_token


@dataclasses.dataclass(frozen=True)
class LayerCache:
    """The cache tensors of one layer, in `layout`; see :class:`CacheSpec`.

    Parameters
    ----------
    key : Tensor[int8]
        Keys; in PA_KV keys and values.
    value : Tensor[int8] or None
        Values; None in PA_KV.
    index : Tensor[int32]
        Index keys, eight int4 codes a word, in ``layouts.index_layout(layout)``.
    index_scale, key_scale, value_scale : Tensor[float32]
        One scale per token and head.
    """

    layout: str
    key: Tensor
    value: Tensor | None
    index: Tensor
    index_scale: Tensor
    key_scale: Tensor
    value_scale: Tensor

    @property
    def kv(self) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
        """Keys, values and their scales, in the order of `sals.sparse_attention`."""
        return self.key, self.value, self.key_scale, self.value_scale

    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor of the cache; the first axis of each is the page."""
        tensors = (self.key, self.value, self.index, self.index_scale, self.key_scale, self.value_scale)
        return tuple(tensor for tensor in tensors if tensor is not None)

    def write(
        self, key: Tensor, value: Tensor, index_key: Tensor, projection: Tensor, slot_mapping: Tensor
    ) -> None:
        """Quantise tokens and write them at their slots.

        Parameters
        ----------
        key, value : Tensor[float16 | bfloat16 | float32], shape (tokens, n_kv, head_dim)
            Keys after RoPE, and values.
        index_key : Tensor, like key
            What the calibration indexes: the keys after RoPE, or before it.
        projection : Tensor[float32], shape (n_idx, in_dim, rank)
            The layer's ``key_projection``.
        slot_mapping : Tensor[int32], shape (tokens,)
            ``page * page_size + offset``; -1 leaves the token out.
        """
        write_cache(
            key,
            value,
            index_key,
            projection,
            slot_mapping,
            self.key,
            self.value,
            self.index,
            self.index_scale,
            self.key_scale,
            self.value_scale,
            layout=self.layout,
            static_scales=False,
        )

    def copy_pages(self, source: Tensor, target: Tensor) -> None:
        """Copy pages `source` over pages `target` (int64, same length) in every tensor."""
        for tensor in self.tensors():
            tensor[target] = tensor[source]
