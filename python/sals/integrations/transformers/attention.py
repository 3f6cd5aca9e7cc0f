# SPDX-License-Identifier: Apache-2.0
"""The attention function and the mask function that an attached model calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.masking_utils import causal_mask_function

from sals import layouts
from sals.ops import project_query, select_blocks, sparse_attention

from .recall import Recall
from .requests import Step
from .settings import DecodeSettings


@dataclasses.dataclass
class AttachedLayer:
    """What the attention function knows about one layer.

    Parameters
    ----------
    layer_idx : int
        Index of the layer.
    cached : cache layer or None
        The layer's caches in the running pass; None if it runs without a cache of ours.
    plain_query : Tensor or None
        Queries of the running pass before RoPE, ``[batch, s_q, ...]``; only where they are asked for.
    """

    layer_idx: int
    cached: Any = None
    plain_query: Tensor | None = None

    def fill(self, query: Tensor, key: Tensor, value: Tensor, scale: float) -> None:
        """Keep what a prompt leaves, where the cache has not been written yet."""

    def attend(self, step: Step, query: Tensor, scale: float) -> Tensor:
        """Attend to the cache, which holds the new tokens: [batch, s_q, n_q, head_dim]."""
        raise NotImplementedError


@dataclasses.dataclass
class IndexedLayer(AttachedLayer):
    """A layer with an int4 index in a :class:`SalsCache`.

    Parameters
    ----------
    settings : DecodeSettings
        How to select; when not to.
    query_projection : Tensor[float32], shape (n_idx, in_dim, rank)
        The layer's projection of queries.
    rotated : bool
        Project the query after RoPE, or before it.
    always_dense : bool
        The calibration leaves this layer dense.
    recall : Recall or None
        Where to record how much of the attention the chosen blocks hold; None if nobody asks.
    observer : callable or None
        Is told what was read: queries [batch, s_q, n_q, head_dim], block ids [batch, s_q or 1, n_idx, width]
        and the output.
    """

    settings: DecodeSettings = dataclasses.field(kw_only=True)
    query_projection: Tensor = dataclasses.field(kw_only=True)
    rotated: bool = dataclasses.field(kw_only=True)
    always_dense: bool = dataclasses.field(kw_only=True)
    recall: Recall | None = None
    observer: Callable[[int, Tensor, Tensor, Tensor], None] | None = None

    def attend(self, step: Step, query: Tensor, scale: float) -> Tensor:
        """Attend to chosen blocks, or to all of them."""
        return _attend_cache(self, step, query, scale)


attached_layers: WeakKeyDictionary[nn.Module, AttachedLayer] = WeakKeyDictionary()


def sals_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attend densely in a prefill, over the chosen blocks of the cache afterwards.

    Parameters
    ----------
    query : Tensor, shape (batch, n_q, s_q, head_dim)
        Queries after RoPE.
    key, value : Tensor, shape (batch, n_kv, s_q, head_dim)
        Keys and values of the same tokens.
    attention_mask : Tensor[bool], shape (batch, columns), or None
        What :func:`sals_mask` made: True for tokens, False for padding.
    scaling : float
        Softmax scale, ``1 / sqrt(head_dim)`` by default.

    Returns
    -------
    Tensor, shape (batch, s_q, n_q, head_dim), and None for the weights

    Raises
    ------
    ValueError
        If the call asks for what is not supported, or comes with another kind of cache.
    """
    _refuse_unsupported(module, query, key, dropout, options)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    layer = attached_layers[module]
    step = None if layer.cached is None else layer.cached.step
    if step is None or step.is_prefill:
        if key.shape[2] != query.shape[2]:
            raise ValueError(
                "sals.attention: past tokens must be in a SalsCache, got another cache. Pass the cache "
                "handle.new_cache(max_batch, max_len), or let generate() make it"
            )
        out = dense_attention(query, key, value, attention_mask, scale)
        if step is not None:
            layer.fill(query, key, value, scale)
        return out, None
    return layer.attend(step, query, scale), None


def dense_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Causal attention in full precision; each request's tokens are gathered, so padding costs nothing.

    Padding rows are zeros, which keeps what they feed into the next layer finite.
    """
    if mask is None:
        return _causal(query, key, value, scale).transpose(1, 2)
    out = query.new_zeros(query.shape)
    for request, is_token in enumerate(mask):
        columns = is_token.nonzero().flatten()
        q, k, v = (tensor[request : request + 1, :, columns] for tensor in (query, key, value))
        out[request, :, columns] = _causal(q, k, v, scale)[0]
    return out.transpose(1, 2)


def _causal(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    return nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=True, scale=scale, enable_gqa=True
    )


def _attend_cache(layer: IndexedLayer, step: Step, query: Tensor, scale: float) -> Tensor:
    """Attend to the int8 cache, which holds the new tokens already: to chosen blocks, or to all of them."""
    rows = step.tokens_first(query.transpose(1, 2)).contiguous()
    if layer.always_dense or layer.settings.stays_dense(step):
        out = _attend(layer, step, rows, step.all_blocks, scale)[0]
        if layer.observer is not None:
            layer.observer(layer.layer_idx, rows, step.all_blocks[0], out)
        return step.in_columns(out)
    plain = rows if layer.rotated else step.tokens_first(_plain_query(layer, rows.shape)).contiguous()
    lists = _select(layer, step, plain, scale)
    recall = layer.recall
    out, lse = _attend(layer, step, rows, lists, scale, return_lse=recall is not None)
    if recall is not None:
        _, lse_all = _attend(layer, step, rows, step.all_blocks, scale, return_lse=True)
        recall.add(lse, lse_all, lists[1], step.seq_lens)
    if layer.observer is not None:
        layer.observer(layer.layer_idx, rows, lists[0], out)
    return step.in_columns(out)


def _attend(
    layer: IndexedLayer,
    step: Step,
    rows: Tensor,
    lists: tuple[Tensor, Tensor],
    scale: float,
    return_lse: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attend to the listed blocks of the layer's cache."""
    assert layer.cached is not None
    stored = layer.cached.stored
    with step.timer.stage("attend"):
        return sparse_attention(
            rows,
            stored.key,
            stored.value,
            stored.key_scale,
            stored.value_scale,
            *lists,
            step.seq_lens,
            query_lens=step.query_lens,
            block_table=step.block_table,
            scale=scale,
            block_size=layer.settings.selection.block_size,
            layout=stored.layout,
            return_lse=return_lse,
        )


def _select(layer: IndexedLayer, step: Step, index_query: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Score the blocks on the int4 index and choose, per query token and index head."""
    assert layer.cached is not None
    stored = layer.cached.stored
    with step.timer.stage("project"):
        packed, query_scale = project_query(
            index_query, layer.query_projection, n_idx=layer.query_projection.shape[0], scale=scale
        )
    with step.timer.stage("select"):
        return select_blocks(
            packed,
            query_scale,
            stored.index,
            stored.index_scale,
            step.seq_lens,
            query_lens=step.query_lens,
            block_table=step.block_table,
            max_seq_len=step.max_seq_len,
            layout=layouts.index_layout(stored.layout),
            selection=layer.settings.selection,
        )


def _plain_query(layer: IndexedLayer, shape: torch.Size) -> Tensor:
    assert layer.plain_query is not None, "attach() hooks the queries before RoPE"
    return layer.plain_query.reshape(shape)


def _refuse_unsupported(
    module: nn.Module, query: Tensor, key: Tensor, dropout: float, options: dict[str, Any]
) -> None:
    if module not in attached_layers:
        raise ValueError(
            f"sals.attention: {type(module).__name__} must belong to an attached model, got another"
        )
    if module.training or dropout:
        raise ValueError("sals.attention: model must be in eval mode, got training mode. Call model.eval()")
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad):
        raise ValueError(
            "sals.attention: there is no gradient, got tensors that require one. Run under torch.no_grad()"
        )
    if options.get("output_attentions"):
        raise ValueError("sals.attention: output_attentions must be False, got True: no weights are kept")
    for option in ("sliding_window", "softcap", "s_aux"):
        if options.get(option) is not None:
            raise ValueError(f"sals.attention: {option} must be None, got {options[option]!r}")


def sals_mask(
    *_: Any,
    mask_function: Callable[..., Any] = causal_mask_function,
    attention_mask: Tensor | None = None,
    **__: Any,
) -> Tensor | None:
    """Hand the padding mask ``[batch, columns]`` on as it is; None if nothing is masked.

    Raises
    ------
    ValueError
        If the model wants another mask than causal with padding.
    """
    if mask_function is not causal_mask_function:
        raise ValueError(
            "sals.attention: the mask must be causal with padding, got another mask "
            "(sliding window, packed sequences or a custom one)"
        )
    if attention_mask is None or bool(attention_mask.all()):
        return None
    return attention_mask
