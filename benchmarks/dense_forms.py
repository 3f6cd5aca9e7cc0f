# SPDX-License-Identifier: Apache-2.0
"""The forms of dense decode attention that a PyTorch user can pick, over a preallocated cache."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def grouped_sdpa(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Query heads of a KV head become query tokens: [batch, n_kv, group, head_dim]."""
    batch, n_q, _, head_dim = query.shape
    grouped = query.view(batch, key.shape[1], n_q // key.shape[1], head_dim)
    return F.scaled_dot_product_attention(grouped, key, value).view(query.shape)


def gqa_sdpa(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


def repeated_sdpa(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """What many model files do: every KV head copied for each of its query heads."""
    group = query.shape[1] // key.shape[1]
    return F.scaled_dot_product_attention(
        query, key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
    )


def grouped_matmul(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    batch, n_q, _, head_dim = query.shape
    grouped = query.view(batch, key.shape[1], n_q // key.shape[1], head_dim)
    logits = grouped @ key.transpose(-1, -2) * head_dim**-0.5
    return (logits.float().softmax(-1).to(value.dtype) @ value).view(query.shape)


# Forms that copy every KV head for each of its query heads; ten times slower than grouping where they fit.
COPYING = frozenset({"sdpa, enable_gqa", "sdpa, KV repeated"})
MAX_COPY_BYTES = 4 << 30

FORMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "sdpa, heads grouped": grouped_sdpa,
    "sdpa, enable_gqa": gqa_sdpa,
    "sdpa, KV repeated": repeated_sdpa,
    "matmul, heads grouped": grouped_matmul,
}
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
