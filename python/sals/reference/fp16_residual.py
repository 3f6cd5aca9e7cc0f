# SPDX-License-Identifier: Apache-2.0
"""The two-term scheme with fp16 residuals, scores and accumulators, as the CANN community's operator has it.

Only for comparing errors. The differences from `sals.reference.sfaa.sfaa_two_term`: the second terms are
taken of values already rounded to fp16, scores pass through an fp16 buffer scaled by 1/1024 in which the two
products are added, the output accumulates in fp16, and the row sum comes from the unquantised weights.
Static per-channel scales only. Scheme: SparseFlashAttentionAntiquant in the CANN ops-transformer repository.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sals.reference.listed import ListedRow, SfaaArguments, attend_rows
from sals.reference.two_term import FIRST_TERM, SECOND_TERM

FP16_TILE_TOKENS = 1024
FP16_SHIFT = np.float32(1024)


def _split_fp16(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first = np.rint(y)
    second = np.rint(SECOND_TERM * (y.astype(np.float16).astype(np.float32) - first))
    return first.astype(np.int32), second.astype(np.int32)


def _product_fp16(
    first: np.ndarray, second: np.ndarray, codes: np.ndarray, divisor: np.float32
) -> np.ndarray:
    codes = codes.astype(np.float64)
    one = ((first.astype(np.float64) @ codes) / divisor).astype(np.float16)
    two = ((second.astype(np.float64) @ codes) / (divisor * SECOND_TERM)).astype(np.float16)
    return one + two


def fp16_attention(row: ListedRow, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Attention of one row in the fp16-residual arithmetic."""
    query = row.query * row.key_scale
    amax = np.abs(query).max(axis=-1, keepdims=True)
    terms = _split_fp16(query * np.divide(FIRST_TERM, amax, out=np.zeros_like(amax), where=amax > 0))
    keys, values = row.keys[row.seen], row.values[row.seen]
    maximum = np.full((len(query), 1), -np.inf, np.float32)
    total = np.zeros((len(query), 1), np.float32)
    out = np.zeros((len(query), values.shape[1]), np.float16)
    for begin in range(0, len(keys), FP16_TILE_TOKENS):
        tile = slice(begin, begin + FP16_TILE_TOKENS)
        ring = _product_fp16(*terms, keys[tile].T, FP16_SHIFT).astype(np.float32)
        logits = ring * (FP16_SHIFT / FIRST_TERM * np.float32(scale)) * amax
        new_maximum = np.maximum(maximum, logits.max(axis=-1, keepdims=True))
        weights = np.exp(logits - new_maximum)
        decay = np.exp(maximum - new_maximum)
        total = total * decay + weights.sum(axis=-1, keepdims=True)
        part = _product_fp16(*_split_fp16(FIRST_TERM * weights), values[tile], FP16_SHIFT * FIRST_TERM)
        out = out * decay.astype(np.float16) + part
        maximum = new_maximum
    result = out.astype(np.float32) / total * FP16_SHIFT * row.value_scale
    return result, (maximum + np.log(total))[:, 0]


def sfaa_fp16_residual(
    query: np.ndarray,
    key_cache: np.ndarray,
    value_cache: np.ndarray | None,
    key_scale: np.ndarray,
    value_scale: np.ndarray,
    block_ids: np.ndarray,
    selected_lens: np.ndarray | None,
    seq_lens: np.ndarray,
    *,
    scale: float,
    **arguments: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Attention with fp16 residuals and accumulators; arguments and results as `sfaa_two_term`.

    Raises
    ------
    ValueError
        If the scales are per token: the emulated operator has static scales only.
    """
    del selected_lens
    if key_scale.ndim != 2 or value_scale.ndim != 2:
        raise ValueError("sfaa_fp16_residual: key_scale and value_scale must be static, [n_kv, head_dim]")
    problem = SfaaArguments(
        query, key_cache, value_cache, key_scale, value_scale, block_ids, seq_lens, **arguments
    )
    return attend_rows(problem, lambda row: fp16_attention(row, scale), np.float32)
