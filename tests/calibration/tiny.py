# SPDX-License-Identifier: Apache-2.0
"""Models of a few thousand random weights, for tests of calibration."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

SIZES = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 1024,
    "initializer_range": 0.3,
}
N_Q, N_KV, HEAD_DIM = 6, 2, 16


def model(kind: str = "llama", seed: int = 0) -> PreTrainedModel:
    """Return a Llama, or a Qwen3 (which normalises queries and keys before RoPE)."""
    torch.manual_seed(seed)
    if kind == "llama":
        return LlamaForCausalLM(LlamaConfig(**SIZES)).eval()
    return Qwen3ForCausalLM(Qwen3Config(**SIZES)).eval()


def tokens(count: int, seed: int = 1) -> torch.Tensor:
    """Return random token ids."""
    return torch.randint(0, SIZES["vocab_size"], (count,), generator=torch.Generator().manual_seed(seed))
