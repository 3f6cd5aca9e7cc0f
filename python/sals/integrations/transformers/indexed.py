# SPDX-License-Identifier: Apache-2.0
"""Attaching with an int4 index: SALS and sketch attention."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from transformers import PreTrainedModel

from sals.calibration import Calibration

from .attachment import Attachment
from .attention import IndexedLayer, attached_layers
from .cache import SalsCache
from .columns import ColumnCache
from .recall import Recall
from .settings import DecodeSettings


class IndexAttachment(Attachment):
    """A model that decodes with an index over a :class:`SalsCache`.

    Parameters
    ----------
    model : PreTrainedModel
        The model.
    calibration : Calibration
        The index.
    settings : DecodeSettings
        How to select; when not to.
    page_size : int
        Tokens of a cache page.
    layout : str
        Layout of the caches.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        calibration: Calibration,
        settings: DecodeSettings,
        page_size: int,
        layout: str,
    ) -> None:
        super().__init__(model)
        self.calibration = calibration
        self.settings = settings
        self._page_size = page_size
        self._layout = layout

    def new_cache(self, max_batch: int, max_len: int) -> SalsCache:
        """Make a cache for this model; see :class:`SalsCache`."""
        return SalsCache(
            self.model.config,
            max_batch,
            max_len,
            self.calibration,
            page_size=self._page_size,
            layout=self._layout,
            device=self.model.device,
        )

    @contextlib.contextmanager
    def measured(self) -> Iterator[Recall]:
        """Record, inside a ``with`` block, how much of the attention the chosen blocks hold; slow."""
        recall = Recall()
        layers = self.layers()
        for layer in layers:
            layer.recall = recall
        try:
            yield recall
        finally:
            for layer in layers:
                layer.recall = None

    def layers(self) -> list[IndexedLayer]:
        """Return what the attention function knows about each layer."""
        found = [attached_layers[module] for module in self._modules]
        return [layer for layer in found if isinstance(layer, IndexedLayer)]

    def _attached_layer(self, index: int) -> IndexedLayer:
        projection = self.calibration.query_projection[index].to(self.model.device).contiguous()
        return IndexedLayer(
            layer_idx=index,
            settings=self.settings,
            query_projection=projection,
            rotated=self.calibration.rotated,
            always_dense=index in self.calibration.dense_layers,
        )

    def _plain_sides(self) -> tuple[str, ...]:
        return () if self.calibration.rotated else ("q", "k")

    def _check_cache(self, cache: ColumnCache) -> None:
        if not isinstance(cache, SalsCache) or cache.calibration is not self.calibration:
            raise ValueError(
                "sals.attention: the cache must come from this attachment, got one with another calibration. "
                "Use handle.new_cache(max_batch, max_len)"
            )
