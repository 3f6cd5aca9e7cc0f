# SPDX-License-Identifier: Apache-2.0
"""The index query: group mean, low-rank projection, int4 quantisation."""

from __future__ import annotations

import numpy as np

from sals.reference.int4 import pack_int4
from sals.reference.quantize import quantize_int4


def project(heads: np.ndarray, projection: np.ndarray) -> np.ndarray:
    """Project per-KV-head vectors to the latents of the index heads.

    Parameters
    ----------
    heads : array, shape (..., n_kv, head_dim)
    projection : float32 array, shape (n_idx, in_dim, rank)
        Per head (``n_idx == n_kv``, ``in_dim == head_dim``), or joint (``n_idx == 1``,
        ``in_dim == n_kv * head_dim``, the heads concatenated).

    Returns
    -------
    float32 array, shape (..., n_idx, rank)
        Summed in float64, then rounded once.
    """
    n_idx, in_dim, _ = projection.shape
    heads = np.asarray(heads)
    if n_idx * in_dim != heads.shape[-2] * heads.shape[-1]:
        raise ValueError(f"projection {projection.shape} does not fit heads {heads.shape[-2:]}")
    inputs = heads.astype(np.float64).reshape(*heads.shape[:-2], n_idx, in_dim)
    return np.einsum("...hi,hir->...hr", inputs, projection.astype(np.float64)).astype(np.float32)


def project_query(
    query: np.ndarray, projection: np.ndarray, *, n_idx: int, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Make the packed index query of ``sals::qsi`` from the attention query.

    ``latent = mean over the group's query heads @ projection``; ``query_scale = amax / 7 * scale``.

    Parameters
    ----------
    query : float32 array, shape (batch, s_q, n_q, head_dim) or (tokens, n_q, head_dim)
    projection : float32 array, shape (n_idx, in_dim, rank)
        See `project`; a joint projection implies ``n_kv = in_dim / head_dim``.
    n_idx : int
        Index heads.
    scale : float
        Softmax scale.

    Returns
    -------
    packed : int32 array, shape (..., n_idx, rank / 8)
    query_scale : float32 array, shape (..., n_idx)
    """
    if projection.shape[0] != n_idx:
        raise ValueError(f"projection must have n_idx = {n_idx} heads, got {projection.shape[0]}")
    head_dim = query.shape[-1]
    n_kv = n_idx * projection.shape[1] // head_dim
    grouped = query.astype(np.float64).reshape(*query.shape[:-2], n_kv, -1, head_dim)
    codes, latent_scale = quantize_int4(project(grouped.mean(axis=-2), projection))
    return pack_int4(codes), latent_scale * np.float32(scale)
