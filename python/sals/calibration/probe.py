# SPDX-License-Identifier: Apache-2.0
"""Replace the attention of a transformers model by a function of ours, for as long as a measurement takes."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel

from sals.integrations.transformers.modules import attention_modules, plain_source

IMPLEMENTATION = "sals_calibration"


@dataclasses.dataclass(frozen=True)
class AttentionCall:
    """One layer's attention over one sequence; tokens first, then heads.

    Parameters
    ----------
    layer : int
        Index of the layer.
    scale : float
        Softmax scale of the layer.
    query : Tensor, shape (s_q, n_q, head_dim)
        Queries of the newest ``s_q`` tokens, after RoPE.
    key, value : Tensor, shape (seq_len, n_kv, head_dim)
        The whole cache, the newest tokens included; keys after RoPE.
    plain_query, plain_key : Tensor, shape (s_q, n_q | n_kv, head_dim)
        Queries and keys of the newest tokens before RoPE.
    """

    layer: int
    scale: float
    query: Tensor
    key: Tensor
    value: Tensor
    plain_query: Tensor
    plain_key: Tensor


Handler = Callable[[AttentionCall], Tensor]

_active: contextvars.ContextVar[tuple[Handler, dict[str, Tensor]]] = contextvars.ContextVar(
    "sals_calibration"
)


@contextlib.contextmanager
def attention_replaced(model: PreTrainedModel, handler: Handler) -> Iterator[None]:
    """Let ``handler`` compute every attention of ``model``; it returns ``[s_q, n_q, head_dim]``.

    Raises
    ------
    ValueError
        If an attention layer has no ``q_proj`` and ``k_proj``, where tensors before RoPE are read.
    """
    AttentionInterface.register(IMPLEMENTATION, _attend)
    AttentionMaskInterface.register(IMPLEMENTATION, lambda *_, **__: None)
    before = model.config._attn_implementation
    captured: dict[str, Tensor] = {}
    token = _active.set((handler, captured))
    with contextlib.ExitStack() as stack:
        stack.callback(_active.reset, token)
        for attention in attention_layers(model):
            for side in ("q", "k"):
                hook = _capture_into(captured, side)
                stack.callback(plain_source(attention, side).register_forward_hook(hook).remove)
        stack.callback(model.set_attn_implementation, before)
        model.set_attn_implementation(IMPLEMENTATION)
        yield


def attention_layers(model: PreTrainedModel) -> list[nn.Module]:
    """Return the attention modules of a model in layer order."""
    layers = attention_modules(model)
    missing = [layer for layer in layers if not (hasattr(layer, "q_proj") and hasattr(layer, "k_proj"))]
    if missing:
        raise ValueError(
            f"sals.calibrate: model must have q_proj and k_proj in each of its {len(layers)} attention "
            f"layers, got {len(layers) - len(missing)} such layers in {type(model).__name__}"
        )
    return layers


def _capture_into(captured: dict[str, Tensor], side: str) -> Callable[[nn.Module, Any, Tensor], None]:
    def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        captured[side] = output

    return hook


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _mask: Tensor | None,
    scaling: float,
    **_options: Any,
) -> tuple[Tensor, None]:
    """Adapt transformers' attention function (``[1, heads, tokens, head_dim]``) to the active handler."""
    handler, captured = _active.get()
    if query.shape[0] != 1:
        raise ValueError(f"sals.calibrate: batch must be 1, got {query.shape[0]}")
    head_dim, s_q = query.shape[3], query.shape[2]
    call = AttentionCall(
        layer=module.layer_idx,
        scale=scaling,
        query=query[0].transpose(0, 1),
        key=key[0].transpose(0, 1),
        value=value[0].transpose(0, 1),
        plain_query=captured["q"].reshape(s_q, -1, head_dim),
        plain_key=captured["k"].reshape(s_q, -1, head_dim),
    )
    return handler(call)[None].to(query.dtype), None


def causal_attention(call: AttentionCall) -> Tensor:
    """Dense causal attention over a sequence that starts with this call (``s_q == seq_len``)."""
    group = call.query.shape[1] // call.key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1).transpose(0, 1) for x in (call.key, call.value))
    out = torch.nn.functional.scaled_dot_product_attention(
        call.query.transpose(0, 1)[None], key[None], value[None], is_causal=True, scale=call.scale
    )
    return out[0].transpose(0, 1)
