# SPDX-License-Identifier: Apache-2.0
"""int8 and int4 codes of keys and values, with a scale per token, as ``write_cache`` makes them."""

from __future__ import annotations

import torch
from torch import Tensor

from sals import _core
from sals.calibration.scoring import quantize

INT8_LEVELS, INT4_LEVELS = 127, 7


def int8_codes(x: Tensor) -> tuple[Tensor, Tensor]:
    """Quantise the last axis: int8 codes, padded with zeros as the operators read rows, and fp32 scales."""
    codes, scale = quantize(x.float(), INT8_LEVELS)
    padding = int(_core.padded_head_dim(x.shape[-1])) - x.shape[-1]
    return torch.nn.functional.pad(codes.to(torch.int8), (0, padding)), scale


def from_codes(codes: Tensor, scale: Tensor, head_dim: int) -> Tensor:
    """Return the values that codes [..., row] and scales [...] stand for, float32 [..., head_dim]."""
    return codes[..., :head_dim].float() * scale[..., None]


def int4_codes(codes: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Quantise int8 codes further: two int4 codes a byte, the even channel in the low nibble, and scales."""
    fewer, step = quantize(codes.float(), INT4_LEVELS)
    nibbles = fewer.to(torch.int8) & 0xF
    return (nibbles[..., 0::2] | (nibbles[..., 1::2] << 4)), step * scale


def unpack_int4(packed: Tensor) -> Tensor:
    """Return int8 codes in [-7, 7] of packed int4; the attention reads them with the int4 scales."""
    low = (packed << 4) >> 4
    return torch.stack([low, packed >> 4], dim=-1).flatten(-2)
