# SPDX-License-Identifier: Apache-2.0
"""A context that is read once, densely, and from which every method starts.

All methods attend densely to a prompt, so what they are given is the same: queries, keys and values of each
layer. Scores that evictors want from the prompt are computed once per kind.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from sals.calibration.probe import AttentionCall, attention_replaced, causal_attention
from sals.integrations.transformers import Attachment
from sals.integrations.transformers.columns import ColumnCache
from sals.integrations.transformers.kept import KeptLayer
from sals.methods.scores import Scorer


@dataclasses.dataclass(frozen=True)
class LayerStates:
    """What one layer saw of the prompt, ``[1, heads, tokens, head_dim]``; plain_key [1, tokens, width]."""

    query: Tensor
    key: Tensor
    value: Tensor
    plain_key: Tensor
    scale: float


class Prefix:
    """The states of a prompt in every layer.

    Parameters
    ----------
    model : PreTrainedModel
        The model, not attached.
    tokens : Tensor[int64], shape (tokens,)
        The prompt.
    """

    def __init__(self, model: PreTrainedModel, tokens: Tensor) -> None:
        self.model = model
        self.tokens = tokens
        self.layers: list[LayerStates] = []
        self._scores: dict[tuple[Scorer, int], Tensor] = {}

        def record(call: AttentionCall) -> Tensor:
            query, key, value = (x.transpose(0, 1)[None].clone() for x in (call.query, call.key, call.value))
            plain = call.plain_key.flatten(1)[None].clone()
            self.layers.append(LayerStates(query, key, value, plain, call.scale))
            return causal_attention(call)

        with torch.inference_mode(), attention_replaced(model, record):
            model(tokens[None], use_cache=False, logits_to_keep=1)

    def __len__(self) -> int:
        """Tokens."""
        return len(self.tokens)

    def scores(self, scorer: Scorer, layer: int) -> Tensor:
        """Scores of the prompt's tokens in a layer, float32 (n_kv, tokens)."""
        wanted = scorer, layer
        if wanted not in self._scores:
            states = self.layers[layer]
            key = states.key[0]
            query = states.query[0].unflatten(0, (len(key), -1)).transpose(1, 2)
            seen = torch.arange(1, len(self) + 1).expand(len(key), -1)
            with torch.inference_mode():
                self._scores[wanted] = scorer.mass(query, scorer.features(key), seen, states.scale, None)
        return self._scores[wanted]

    def dense_cache(self) -> DynamicCache:
        """Return a cache of the model itself behind the prompt."""
        cache = DynamicCache(config=self.model.config)
        for index, states in enumerate(self.layers):
            cache.update(states.key, states.value, index)
        return cache

    def fill(self, handle: Attachment, max_len: int) -> ColumnCache:
        """Return a cache of an attachment of the model behind the prompt."""
        cache = handle.new_cache(1, max_len)
        for index, states in enumerate(self.layers):
            layer = cache.begin_layer(index, 1, len(self), None)
            layer.plain_key = states.plain_key
            cache.update(states.key, states.value, index)
            if isinstance(layer, KeptLayer):
                scorer = layer.kv.scorer
                scores = None if scorer is None else self.scores(scorer, index)
                layer.fill(states.query, states.key, states.value, states.scale, scores)
            layer.step = layer.plain_key = None
        return cache
