# SPDX-License-Identifier: Apache-2.0
"""What every cache of ours does with the columns of a padded batch, whatever its layers store."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

from .requests import Requests, Step
from .timer import NO_TIMER, StageTimer


class ColumnLayer(CacheLayerMixin):  # type: ignore[misc]
    """A layer of a :class:`ColumnCache`.

    Parameters
    ----------
    requests : Requests
        Columns and lengths, shared by all layers.
    """

    is_compileable = False
    is_croppable = True
    is_sliding = False

    def __init__(self, requests: Requests) -> None:
        super().__init__()
        self.requests = requests
        self.step: Step | None = None
        self.plain_key: Tensor | None = None
        self.is_initialized = True

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the columns that a mask must cover, and its first column."""
        return self.requests.num_columns + query_length, 0

    def get_seq_length(self) -> int:
        """Return the columns seen, padding and evicted tokens included: true positions go on from there."""
        return self.requests.num_columns

    def get_max_length(self) -> int:
        """Return the columns that fit."""
        return self.requests.max_columns


class ColumnCache(Cache):  # type: ignore[misc]
    """A cache whose layers share the `requests` that say which columns are tokens.

    Parameters
    ----------
    layers : list
        Each a :class:`ColumnLayer`.
    requests : Requests
        Columns and lengths.
    """

    def __init__(self, layers: list[Any], requests: Requests) -> None:
        super().__init__(layers=layers)
        self.requests = requests

    def begin_layer(
        self, layer_idx: int, batch: int, s_q: int, mask: Tensor | None, timer: StageTimer = NO_TIMER
    ) -> Any:
        """Prepare a layer for a pass; the first layer starts the pass for all. See `Requests.begin`."""
        if layer_idx == 0:
            step = self.requests.begin(batch, s_q, mask, timer)
            for layer in self.layers:
                layer.step = step
        return self.layers[layer_idx]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new tokens of a layer; the last layer completes the pass."""
        states = super().update(key_states, value_states, layer_idx, *args, **kwargs)
        if layer_idx == len(self.layers) - 1:
            self.requests.commit(self.layers[layer_idx].step)
        return states

    def crop(self, tokens_to_remove: int) -> None:
        """Forget the newest columns: ``crop(-n)`` removes n, as in transformers.

        Raises
        ------
        ValueError
            For a positive number.
        """
        if tokens_to_remove > 0:
            raise ValueError(
                f"sals.{type(self).__name__}: crop takes minus the number of columns to remove, "
                f"got {tokens_to_remove}"
            )
        self.requests.crop(-tokens_to_remove)

    def reset(self) -> None:
        """Forget everything."""
        self.requests.reset()

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Make request i continue what was request ``beam_idx[i]``."""
        self.batch_select_indices(beam_idx)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each request `repeats` times; ``max_batch`` must have room."""
        self._take([request for request in range(self.requests.batch) for _ in range(repeats)])

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the requests `indices`, in that order; an index may appear more than once."""
        if indices.dtype == torch.bool:
            indices = indices.nonzero().flatten()
        self._take(indices.tolist())

    def _take(self, sources: list[int]) -> None:
        raise NotImplementedError


def check_sizes(cache: str, max_batch: int, max_len: int) -> None:
    """Refuse sizes that are not positive."""
    for name, value in (("max_batch", max_batch), ("max_len", max_len)):
        if value < 1:
            raise ValueError(f"sals.{cache}: {name} must be positive, got {value}")
