# SPDX-License-Identifier: Apache-2.0
"""What a method's queries read, against dense attention: mass kept and output cosine of each layer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from sals.integrations.transformers import Attachment, IndexAttachment
from sals.integrations.transformers.columns import ColumnCache
from sals.kept.layer import Reading, listed_tokens


class Watch:
    """Sums over the watched queries, per layer.

    Dense attention is that of the method's own query over the keys and values of the dense run, in float32.

    Parameters
    ----------
    dense : DynamicCache
        The dense run behind all tokens.
    scales : sequence of float
        Softmax scale of each layer.
    """

    def __init__(self, dense: DynamicCache, scales: Sequence[float]) -> None:
        self._keys = [layer.keys[0] for layer in dense.layers]
        self._values = [layer.values[0] for layer in dense.layers]
        self._scales = scales
        self._mass, self._cosine, self._tokens = torch.zeros(3, len(scales), dtype=torch.float64)
        self._heads = torch.zeros(len(scales))

    @property
    def mass(self) -> Tensor:
        """Mean share of dense attention on what was read, float64 (layers,)."""
        return self._mass / self._heads

    @property
    def cosine(self) -> Tensor:
        """Mean cosine between the method's and the dense output of a head, float64 (layers,)."""
        return self._cosine / self._heads

    @property
    def tokens(self) -> Tensor:
        """Mean tokens read by a query, float64 (layers,)."""
        return self._tokens / self._heads

    @contextlib.contextmanager
    def watching(self, handle: Attachment, cache: ColumnCache) -> Iterator[None]:
        """Watch the passes inside a ``with`` block; batch 1."""
        if isinstance(handle, IndexAttachment):
            watched: list[Any] = list(handle.layers())
            observer: Any = self._blocks_read(handle.settings.selection.block_size, cache)
        else:
            watched, observer = [layer.kv for layer in cache.layers], self._rows_read
        for layer in watched:
            layer.observer = observer
        try:
            yield
        finally:
            for layer in watched:
                layer.observer = None

    def _rows_read(self, layer: int, reading: Reading) -> None:
        self.add(layer, reading.queries.query, reading.read, reading.out)

    def _blocks_read(
        self, block_size: int, cache: ColumnCache
    ) -> Callable[[int, Tensor, Tensor, Tensor], None]:
        def observe(layer: int, query: Tensor, block_ids: Tensor, out: Tensor) -> None:
            n_kv, total = len(self._keys[layer]), int(cache.layers[layer].step.seq_lens[0])
            s_q = query.shape[1]
            listed = listed_tokens(block_ids[0], block_size, total).transpose(0, 1)
            causal = torch.arange(total) <= torch.arange(total - s_q, total)[:, None]
            read = (listed & causal).expand(n_kv, -1, -1)
            query_rows, out_rows = (x[0].unflatten(1, (n_kv, -1)).transpose(0, 1) for x in (query, out))
            self.add(layer, query_rows, read, out_rows)

        return observe

    def add(self, layer: int, query: Tensor, read: Tensor, out: Tensor) -> None:
        """Record one layer of a pass.

        Parameters
        ----------
        layer : int
            Index of the layer.
        query, out : Tensor, shape (n_kv, s_q, group, head_dim)
            Queries and the method's output.
        read : Tensor[bool], shape (n_kv, s_q, tokens)
            Tokens that were read; the last belongs to the last query.
        """
        n_kv, s_q, group, _ = query.shape
        total = read.shape[-1]
        key, value = self._keys[layer][:, :total], self._values[layer][:, :total]
        logits = torch.bmm(query.float().flatten(1, 2) * self._scales[layer], key.float().transpose(1, 2))
        future = torch.arange(total) > torch.arange(total - s_q, total)[:, None]
        logits = logits.unflatten(1, (s_q, group)).masked_fill_(future[:, None], -torch.inf)
        weights = logits.softmax(-1)
        dense = torch.bmm(weights.flatten(1, 2), value.float()).view_as(query)
        self._mass[layer] += float((weights * read[:, :, None]).sum())
        self._cosine[layer] += float(torch.cosine_similarity(dense, out.float(), dim=-1).sum())
        self._tokens[layer] += float(read.sum()) * group
        self._heads[layer] += n_kv * s_q * group
