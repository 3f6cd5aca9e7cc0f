# SPDX-License-Identifier: Apache-2.0
"""Find the attention layers of a model, and refuse what they do that the operators do not."""

from __future__ import annotations

from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

from sals._contract import HEAD_DIMS


def attention_modules(model: PreTrainedModel) -> list[nn.Module]:
    """Return the attention modules of a decoder in layer order.

    Raises
    ------
    ValueError
        If the model is not a decoder with one self-attention per layer.
    """
    found = [
        module
        for module in model.modules()
        if hasattr(module, "layer_idx") and getattr(module, "is_causal", False)
    ]
    found.sort(key=lambda module: module.layer_idx)
    expected = model.config.get_text_config().num_hidden_layers
    if [module.layer_idx for module in found] != list(range(expected)):
        raise ValueError(
            f"sals.attach: model must have one attention module for each of its {expected} layers, "
            f"got {len(found)} in {type(model).__name__}"
        )
    return found


def plain_source(attention: nn.Module, side: str) -> nn.Module:
    """Return the last module that queries ("q") or keys ("k") pass before RoPE: a norm, or the projection.

    Raises
    ------
    ValueError
        If queries and keys come from one fused projection.
    """
    source = getattr(attention, f"{side}_norm", None) or getattr(attention, f"{side}_proj", None)
    if source is None:
        raise ValueError(
            f"sals.attach: model must have {side}_proj where the calibration indexes tensors before RoPE, "
            f"got {type(attention).__name__} without it. Calibrate with rotated keys"
        )
    return source


def check_supported(model: PreTrainedModel, modules: list[nn.Module]) -> None:
    """Refuse models whose attention is not plain causal attention over the whole context.

    Raises
    ------
    ValueError
        Names what is not supported.
    """
    config = model.config.get_text_config()
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if head_dim not in HEAD_DIMS:
        raise ValueError(
            f"sals.attach: head_dim must be one of {', '.join(map(str, HEAD_DIMS))}, got {head_dim}"
        )
    if getattr(config, "is_encoder_decoder", False):
        raise ValueError(f"sals.attach: model must be a decoder, got {type(model).__name__}")
    window = _sliding_window(config)
    if window:
        raise ValueError(f"sals.attach: every layer must attend to the whole context, got {window}")
    if any(hasattr(module, "sinks") for module in modules):
        raise ValueError("sals.attach: attention must have no learned sinks, got a model with sinks")
    if getattr(config, "attn_logit_softcapping", None) is not None:
        raise ValueError(
            f"sals.attach: attn_logit_softcapping must be None, got {config.attn_logit_softcapping}"
        )


def _sliding_window(config: PreTrainedConfig) -> str:
    """Describe the layers with a window; empty if there are none."""
    kinds = getattr(config, "layer_types", None)
    if kinds is not None:
        others = sorted(set(kinds) - {"full_attention"})
        return f"layers of the types {', '.join(others)}" if others else ""
    window = getattr(config, "sliding_window", None)
    return f"sliding_window {window}" if window is not None else ""
