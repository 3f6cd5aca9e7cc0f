# SPDX-License-Identifier: Apache-2.0
"""Symmetric quantisation to int8 and int4: ``code = clamp(rint(x / scale))``, round half to even.

A scale of 0 (from an absolute maximum of 0) gives codes 0. All arithmetic is float32, so that the codes are
the same bits everywhere.
"""

from __future__ import annotations

import numpy as np

from sals._contract import INT4_MAX, INT4_MIN

INT8_MIN, INT8_MAX = -128, 127


def _codes(x: np.ndarray, scale: np.ndarray, lowest: int, highest: int) -> np.ndarray:
    x = np.asarray(x, dtype=np.float32)
    scale = np.asarray(scale, dtype=np.float32)
    quotient = np.divide(
        x, scale, out=np.zeros(np.broadcast_shapes(x.shape, scale.shape), np.float32), where=scale != 0
    )
    return np.clip(np.rint(quotient), lowest, highest).astype(np.int8)


def _amax(x: np.ndarray) -> np.ndarray:
    return np.abs(np.asarray(x, dtype=np.float32)).max(axis=-1)


def quantize_int4(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantise each vector of the last axis to int4.

    Returns
    -------
    codes : int8 array, shape of `x`
        Values in [-7, 7], not packed.
    scale : float32 array, shape of `x` without its last axis
        ``amax / 7``.
    """
    scale = _amax(x) / np.float32(INT4_MAX)
    return _codes(x, scale[..., None], INT4_MIN, INT4_MAX), scale


def quantize_int8_per_token(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantise each vector of the last axis to int8 with its own scale, ``amax / 127``.

    Returns
    -------
    codes : int8 array, shape of `x`
    scale : float32 array, shape of `x` without its last axis
    """
    scale = _amax(x) / np.float32(INT8_MAX)
    return _codes(x, scale[..., None], INT8_MIN, INT8_MAX), scale


def quantize_int8_static(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Quantise [..., n_kv, head_dim] to int8 with given scales [n_kv, head_dim]; values beyond clamp."""
    return _codes(x, scale, INT8_MIN, INT8_MAX)


def channel_scale(x: np.ndarray) -> np.ndarray:
    """Compute static scales ``amax / 127`` [n_kv, head_dim] over samples [tokens, n_kv, head_dim]."""
    return np.abs(np.asarray(x, dtype=np.float32)).max(axis=0) / np.float32(INT8_MAX)
