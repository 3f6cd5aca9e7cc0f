# SPDX-License-Identifier: Apache-2.0
"""A random Llama small enough for tests, its calibration, and the attention it is compared with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, LlamaConfig, LlamaForCausalLM
from transformers.masking_utils import sdpa_mask

from sals.calibration import Calibration, ModelFingerprint

SEED = 1234
N_LAYERS, N_Q, N_KV, HEAD_DIM, RANK = 2, 4, 2, 64, 64
VOCABULARY = 97
BLOCK_SIZE = 16

# The same arithmetic on other shapes: matrix products of another height are summed in another order, which
# moves a few of the 8-bit and 4-bit codes by one step where a value stood at a tie. One step of one channel
# in 64 is below 1e-3 of a row (relative L2); another token or request would show as a difference of order 1.
OTHER_SHAPES = 1e-3


def make_model(**changes: Any) -> LlamaForCausalLM:
    """A model whose attention logits spread over several units, so that what is attended to matters."""
    torch.manual_seed(SEED)
    config = LlamaConfig(
        **{
            "vocab_size": VOCABULARY,
            "hidden_size": N_Q * HEAD_DIM,
            "intermediate_size": 128,
            "num_hidden_layers": N_LAYERS,
            "num_attention_heads": N_Q,
            "num_key_value_heads": N_KV,
            "head_dim": HEAD_DIM,
            "max_position_embeddings": 4096,
            "initializer_range": 0.05,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": None,
            **changes,
        }
    )
    return LlamaForCausalLM(config).eval()


def make_calibration(model: nn.Module, *, joint: bool = False, **changes: Any) -> Calibration:
    """Random orthonormal projections: the index of a model without structure needs no better."""
    generator = torch.Generator().manual_seed(SEED)
    n_idx, in_dim = (1, N_KV * HEAD_DIM) if joint else (N_KV, HEAD_DIM)
    normal = torch.randn(N_LAYERS, n_idx, in_dim, in_dim, generator=generator)
    projection = torch.linalg.qr(normal)[0][..., :RANK].contiguous()
    settings = {
        "rotated": True,
        "block_size": BLOCK_SIZE,
        "sink_blocks": 1,
        "tail_blocks": 2,
        "dense_layers": (),
        **changes,
    }
    return Calibration(
        query_projection=projection,
        key_projection=projection,
        model=ModelFingerprint.of(model.config),
        **settings,
    )


def random_ids(batch: int, length: int, seed: int = SEED) -> Tensor:
    """Token ids, shape (batch, length), without the padding token."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, VOCABULARY, (batch, length), generator=generator)


def pad_left(prompts: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Prompts [1, length] as one batch: ids and attention mask, shape (batch, longest)."""
    longest = max(prompt.shape[1] for prompt in prompts)
    ids = torch.zeros(len(prompts), longest, dtype=torch.long)
    mask = torch.zeros(len(prompts), longest, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, longest - prompt.shape[1] :] = prompt
        mask[row, longest - prompt.shape[1] :] = 1
    return ids, mask


def relative_error(actual: Tensor, golden: Tensor) -> float:
    """Relative L2 error."""
    return float((actual.double() - golden.double()).norm() / golden.double().norm())


def dequantised(x: Tensor) -> Tensor:
    """What an int8 cache with one scale per token and head gives back."""
    scale = x.abs().amax(dim=-1, keepdim=True) / 127
    return torch.where(scale > 0, torch.round(x / scale), 0) * scale


def _int8_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    if query.shape[2] != key.shape[2]:
        key, value = dequantised(key), dequantised(value)
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
    seen = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).tril(key.shape[2] - query.shape[2])
    logits = query.double() @ key.double().mT * options["scaling"]
    weights = logits.masked_fill(~seen, -torch.inf).softmax(-1)
    return (weights @ value.double()).to(query.dtype).transpose(1, 2), None


def use_int8_dense(model: LlamaForCausalLM) -> None:
    """Let a model attend densely in float64, to what an int8 cache would hold once there is a past."""
    AttentionInterface.register("int8_dense", _int8_attention)
    AttentionMaskInterface.register("int8_dense", sdpa_mask)
    model.set_attn_implementation("int8_dense")
