# SPDX-License-Identifier: Apache-2.0
"""A transformers cache whose layers hold int8 keys and values and an int4 index, in pages."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from sals import layouts
from sals.cache import CacheSpec
from sals.calibration import Calibration

from .columns import ColumnCache, ColumnLayer, check_sizes
from .requests import Requests

DEFAULT_PAGE_SIZE = 128
DEFAULT_LAYOUT = "PA_BNSD"


class SalsLayer(ColumnLayer):
    """The caches of one attention layer.

    Parameters
    ----------
    spec : CacheSpec
        Dimensions of the caches.
    requests : Requests
        Lengths and pages, shared by all layers.
    projection : Tensor[float32], shape (n_idx, in_dim, rank)
        The layer's ``key_projection``.
    rotated : bool
        Index the keys after RoPE, or before it.
    device : torch.device
        Where the caches live.
    """

    def __init__(
        self, spec: CacheSpec, requests: Requests, projection: Tensor, rotated: bool, device: torch.device
    ) -> None:
        super().__init__(requests)
        self.stored = spec.allocate(device)
        self.keys, self.values = self.stored.key, self.stored.value
        self.projection = projection
        self.rotated = rotated

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Do nothing: the caches exist since the constructor."""

    def update(
        self, key_states: Tensor, value_states: Tensor, *_args: Any, **_kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new tokens; return them as they came, for the attention of a prefill.

        Parameters
        ----------
        key_states, value_states : Tensor, shape (batch, n_kv, s_q, head_dim)
            Keys after RoPE, and values, of this pass.

        Raises
        ------
        RuntimeError
            If the model that calls is not attached.
        """
        if self.step is None:
            raise RuntimeError("sals.SalsCache: the model must be attached first, got one that is not")
        key, value = _token_major(key_states), _token_major(value_states)
        index_key = key
        if not self.rotated:
            assert self.plain_key is not None, "attach() hooks the keys before RoPE"
            index_key = self.plain_key.reshape(key.shape)
        with self.step.timer.stage("write"):
            self.stored.write(key, value, index_key, self.projection, self.step.slot_mapping)
        return key_states, value_states


class SalsCache(ColumnCache):
    """KV cache for a model attached with `sals.integrations.transformers.attach`.

    Keys and values are int8 with a scale per token and head, and each token has an int4 index key. Everything
    is allocated once: ``max_batch`` requests of ``ceil(max_len / page_size)`` pages in each layer. Only
    tokens are stored; padding takes columns in transformers' counting but no slots.

    Parameters
    ----------
    config : PreTrainedConfig
        Configuration of the model.
    max_batch : int
        Largest batch; with beam search or several returned sequences, the expanded one.
    max_len : int
        Most columns (tokens and padding) of a request, new tokens included.
    calibration : Calibration
        Calibration of the model: it says what the index is made from.
    page_size : int
        Tokens of a page, a multiple of the calibration's block size.
    layout : str
        PA_BNSD, PA_BSND, PA_NZ or PA_KV.
    device : torch.device or str
        Where the caches live: the model's device.

    Raises
    ------
    ValueError
        If the calibration is another model's, or a dimension is not supported.
    """

    def __init__(
        self,
        config: PreTrainedConfig,
        max_batch: int,
        max_len: int,
        calibration: Calibration,
        *,
        page_size: int = DEFAULT_PAGE_SIZE,
        layout: str = DEFAULT_LAYOUT,
        device: torch.device | str = "cpu",
    ) -> None:
        calibration.validate_for(config)
        check_pages(page_size, layout, calibration)
        check_sizes("SalsCache", max_batch, max_len)
        device = torch.device(device)
        requests = Requests(max_batch, max_len, page_size, calibration.block_size, device)
        self.spec = CacheSpec(
            layout=layout,
            num_pages=max_batch * -(-max_len // page_size),
            page_size=page_size,
            n_kv=calibration.model.n_kv,
            head_dim=calibration.model.head_dim,
            n_idx=calibration.n_idx,
            rank=calibration.rank,
        )
        projections = calibration.key_projection.to(device).contiguous()
        super().__init__(
            [
                SalsLayer(self.spec, requests, projection, calibration.rotated, device)
                for projection in projections
            ],
            requests,
        )
        self.calibration = calibration

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one token takes in all layers; see `sals.cache.CacheSpec.bytes_per_token`."""
        return len(self.layers) * self.spec.bytes_per_token

    def _take(self, sources: list[int]) -> None:
        if self.requests.num_columns == 0:
            return
        source_pages, target_pages = self.requests.take(sources)
        if len(source_pages):
            for layer in self.layers:
                layer.stored.copy_pages(source_pages, target_pages)


def _token_major(states: Tensor) -> Tensor:
    """``[batch, heads, s_q, head_dim]`` to ``[batch * s_q, heads, head_dim]``."""
    return states.transpose(1, 2).flatten(0, 1).contiguous()


def check_pages(page_size: int, layout: str, calibration: Calibration) -> None:
    """Refuse pages and layouts that do not go with a calibration.

    Raises
    ------
    ValueError
        Names what is wrong.
    """
    if page_size < 1 or page_size % calibration.block_size:
        raise ValueError(
            f"sals.SalsCache: page_size must be a positive multiple of the calibration's block_size = "
            f"{calibration.block_size}, got {page_size}"
        )
    if not layouts.is_paged(layout):
        raise ValueError(f"sals.SalsCache: layout must be paged (PA_...), got {layout!r}")
    layouts.index_cache_shape(layout, 1, page_size, calibration.n_idx, calibration.rank)
