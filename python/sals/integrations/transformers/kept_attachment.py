# SPDX-License-Identifier: Apache-2.0
"""Attaching with an evictor, or with a selector that scores blocks in PyTorch."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel

from sals.methods.interface import BlockSelector, Evictor

from .attachment import Attachment
from .attention import AttachedLayer
from .columns import ColumnCache
from .kept import KeptCache
from .requests import Step
from .rotary import Rotary


@dataclasses.dataclass
class KeptAttachedLayer(AttachedLayer):
    """A layer whose cache is a :class:`KeptCache`."""

    def fill(self, query: Tensor, key: Tensor, value: Tensor, scale: float) -> None:
        """Keep what the method keeps of a prompt."""
        self.cached.fill(query, key, value, scale)

    def attend(self, step: Step, query: Tensor, scale: float) -> Tensor:
        """Attend to what the method reads."""
        return self.cached.attend(query, scale)


class KeptAttachment(Attachment):
    """A model that decodes over a :class:`KeptCache`.

    Parameters
    ----------
    model : PreTrainedModel
        The model.
    method : BlockSelector or Evictor
        The method.
    """

    def __init__(self, model: PreTrainedModel, method: BlockSelector | Evictor) -> None:
        super().__init__(model)
        self.method = method
        rolling = getattr(method, "positions", "original") == "rolling"
        self._rotary = Rotary(model) if rolling else None
        self._positions: tuple[Step, Any] | None = None

    def new_cache(self, max_batch: int, max_len: int) -> KeptCache:
        """Make a cache for this model; see :class:`KeptCache`."""
        return KeptCache(
            self.model.config,
            self.method,
            max_batch,
            max_len,
            rotary=self._rotary,
            device=self.model.device,
        )

    def _attached_layer(self, index: int) -> KeptAttachedLayer:
        return KeptAttachedLayer(layer_idx=index)

    def _plain_sides(self) -> tuple[str, ...]:
        return () if self._rotary is None else ("k",)

    def _check_cache(self, cache: ColumnCache) -> None:
        if not isinstance(cache, KeptCache) or cache.method != self.method:
            raise ValueError(
                "sals.attention: the cache must come from this attachment, got one of another method. "
                "Use handle.new_cache(max_batch, max_len)"
            )

    def _arguments(
        self, layer: AttachedLayer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Rotate by rolling positions, which are the same in every layer of a pass."""
        if self._rotary is None:
            return None
        step = layer.cached.step
        if self._positions is None or self._positions[0] is not step:
            like = kwargs["position_embeddings"][0]
            self._positions = step, self._rotary.at(layer.cached.next_positions(step), like)
        return args, {**kwargs, "position_embeddings": self._positions[1]}
