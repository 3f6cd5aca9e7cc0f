# SPDX-License-Identifier: Apache-2.0
"""A transformers cache for the methods of `sals.methods` that keep, or choose, per KV head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from sals.calibration import ModelFingerprint
from sals.kept import LayerKv
from sals.kept.attend import RowQuery
from sals.methods.interface import BlockSelector, Evictor

from .columns import ColumnCache, ColumnLayer, check_sizes
from .requests import Requests, Step
from .rotary import Rotary
from .timer import NO_TIMER, StageTimer


class KeptLayer(ColumnLayer):
    """One layer: a :class:`LayerKv` whose rows are requests times KV heads.

    Parameters
    ----------
    kv : LayerKv
        Keys and values.
    requests : Requests
        Columns and lengths, shared by all layers.
    n_kv : int
        KV heads.
    rolling : bool
        Whether `kv` keeps keys before RoPE.
    """

    def __init__(self, kv: LayerKv, requests: Requests, n_kv: int, rolling: bool) -> None:
        super().__init__(requests)
        self.kv = kv
        self.rolling = rolling
        self._n_kv = n_kv

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Do nothing: rows are made with the first pass."""

    def begin(self, step: Step) -> None:
        """Make room for a pass; what a pass left that has not been completed is forgotten."""
        if step.is_prefill:
            return
        new = self._new_tokens(step)
        before = step.seq_lens.long().repeat_interleave(self._n_kv) - new
        if not torch.equal(before, self.kv.seen):
            self.kv.crop(before)
        self.kv.begin(new)

    def update(
        self, key_states: Tensor, value_states: Tensor, *_args: Any, **_kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new tokens of a later pass; a prompt is written when it has been attended.

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
            raise RuntimeError("sals.KeptCache: the model must be attached first, got one that is not")
        if not self.step.is_prefill:
            key, value = self._rows(self._key(key_states)), self._rows(value_states)
            with self.step.timer.stage("write"):
                self.kv.append(key, value, self._new_tokens(self.step))
        return key_states, value_states

    def fill(
        self, query: Tensor, key: Tensor, value: Tensor, scale: float, scores: Tensor | None = None
    ) -> None:
        """Keep what the method keeps of a prompt, ``[batch, heads, s_q, head_dim]`` each."""
        assert self.step is not None
        lens = self._new_tokens(self.step)
        with self.step.timer.stage("write"):
            rows = self._rows(self._key(key)), self._rows(value)
            self.kv.fill(self._query_rows(query), *rows, lens, scale, scores)

    def attend(self, query: Tensor, scale: float) -> Tensor:
        """Attend to what the method reads; [batch, n_q, s_q, head_dim] to [batch, s_q, n_q, head_dim]."""
        step = self.step
        assert step is not None
        queries = RowQuery(self._query_rows(query).contiguous(), self._new_tokens(step))
        with step.timer.stage("attend"):
            out = self.kv.attend(queries, scale)
        columns = out.unflatten(0, (step.batch, self._n_kv)).permute(0, 2, 1, 3, 4).flatten(2, 3)
        return step.in_columns(columns)

    def next_positions(self, step: Step) -> Tensor:
        """Return the rolling positions of the columns of a pass, int64 (batch, s_q)."""
        new = (step.slot_mapping >= 0).view(step.batch, step.s_q)
        held = 0 if step.is_prefill else self.kv.rows.lengths[:: self._n_kv, None]
        return (held + new.cumsum(1) - 1).clamp(min=0)

    def crop(self, tokens: Tensor) -> None:
        """Forget the newest tokens of each request, down to `tokens` (batch,)."""
        if len(self.kv.rows):
            self.kv.crop(tokens.to(self.kv.seen.device).repeat_interleave(self._n_kv))

    def select(self, sources: list[int]) -> None:
        """Make request i a copy of what was request ``sources[i]``."""
        heads = torch.arange(self._n_kv)
        rows = torch.cat([source * self._n_kv + heads for source in sources])
        self.kv.select(rows.to(self.kv.seen.device))

    def _key(self, key_states: Tensor) -> Tensor:
        """Keys as they are kept: rotated, or plain for rolling positions."""
        if not self.rolling:
            return key_states
        assert self.plain_key is not None, "attach() hooks the keys before RoPE"
        batch, n_kv, s_q, head_dim = key_states.shape
        return self.plain_key.reshape(batch, s_q, n_kv, head_dim).transpose(1, 2)

    def _rows(self, states: Tensor) -> Tensor:
        """``[batch, n_kv, s_q, head_dim]`` to ``[rows, s_q, head_dim]``, tokens before padding."""
        assert self.step is not None
        return self.step.tokens_first(states.transpose(1, 2)).transpose(1, 2).flatten(0, 1)

    def _query_rows(self, query: Tensor) -> Tensor:
        """``[batch, n_q, s_q, head_dim]`` to ``[rows, s_q, group, head_dim]``, tokens before padding."""
        assert self.step is not None
        first = self.step.tokens_first(query.transpose(1, 2))
        return first.unflatten(2, (self._n_kv, -1)).transpose(1, 2).flatten(0, 1)

    def _new_tokens(self, step: Step) -> Tensor:
        """Real tokens of a pass, a row for each request and KV head."""
        lens = (step.slot_mapping >= 0).view(step.batch, step.s_q).sum(1)
        return lens.repeat_interleave(self._n_kv)


class KeptCache(ColumnCache):
    """KV cache for a model attached with a method that is no index.

    Memory is taken when tokens come: an evictor's layers hold its budget, a selector's `max_len` tokens of
    each request of the batch.

    Parameters
    ----------
    config : PreTrainedConfig
        Configuration of the model.
    method : BlockSelector or Evictor
        The method.
    max_batch : int
        Largest batch; with beam search or several returned sequences, the expanded one.
    max_len : int
        Most columns (tokens and padding) of a request, new and evicted tokens included; it costs an evictor
        one byte a column on the host.
    rotary : Rotary, optional
        The model's RoPE, for rolling positions.
    device : torch.device or str
        Where the caches live: the model's device.
    """

    def __init__(
        self,
        config: PreTrainedConfig,
        method: BlockSelector | Evictor,
        max_batch: int,
        max_len: int,
        *,
        rotary: Rotary | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        check_sizes("KeptCache", max_batch, max_len)
        facts = ModelFingerprint.of(config)
        self.method = method
        device = torch.device(device)
        requests = Requests(max_batch, max_len, max_len, max_len, device)
        rotate = None if rotary is None else rotary.rotate
        layers = [
            KeptLayer(
                LayerKv(method, index, facts.head_dim, max_len, rotate, device),
                requests,
                facts.n_kv,
                rotary is not None,
            )
            for index in range(facts.n_layers)
        ]
        super().__init__(layers, requests)

    def begin_layer(
        self, layer_idx: int, batch: int, s_q: int, mask: Tensor | None, timer: StageTimer = NO_TIMER
    ) -> KeptLayer:
        """Prepare a layer for a pass, and make room in it. See `Requests.begin`."""
        layer: KeptLayer = super().begin_layer(layer_idx, batch, s_q, mask, timer)
        assert layer.step is not None
        layer.begin(layer.step)
        return layer

    def resident_bytes(self) -> int:
        """Bytes of every storage that the layers hold: keys, values, scales and what the method adds."""
        storages = {
            tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
            for layer in self.layers
            for tensor in layer.kv.tensors()
        }
        return sum(storages.values())

    def crop(self, tokens_to_remove: int) -> None:
        """Forget the newest columns: ``crop(-n)`` removes n. What was evicted does not come back."""
        super().crop(tokens_to_remove)
        tokens = self.requests.tokens()
        for layer in self.layers:
            layer.crop(tokens)

    def reset(self) -> None:
        """Forget everything and give the memory back."""
        super().reset()
        for layer in self.layers:
            layer.kv.start(0)

    def _take(self, sources: list[int]) -> None:
        if self.requests.num_columns == 0:
            return
        self.requests.take(sources)
        for layer in self.layers:
            layer.select(sources)
