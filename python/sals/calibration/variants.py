# SPDX-License-Identifier: Apache-2.0
"""The indexes that calibration compares: which basis, before or after RoPE, per head or joint, which rank."""

from __future__ import annotations

import dataclasses
import math

import torch
from torch import Tensor

from .moments import Moments

BASES = ("identity", "pca", "query_aware")


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to make the index.

    Parameters
    ----------
    basis : {"identity", "pca", "query_aware"}
        ``identity`` keeps the channels as they are (rank = in_dim only). ``pca`` projects queries and keys on
        the leading eigenvectors of E[k kᵀ], as SALS does (arXiv 2510.24273). ``query_aware`` uses the best
        approximation of q·k itself of that rank, with two projections (:func:`query_aware_projections`).
    rank : int
        Width of the index per index head.
    rotated : bool
        After RoPE (True) or before it.
    joint : bool
        One index for all KV heads, or one per KV head.
    spread : bool
        Multiply both projections by one orthogonal matrix that spreads the energy evenly over the channels,
        which suits the common int4 scale of a token better than a few large channels do.
    """

    basis: str
    rank: int
    rotated: bool
    joint: bool = False
    spread: bool = False

    def __post_init__(self) -> None:
        if self.basis not in BASES:
            raise ValueError(f"sals.calibrate: basis must be one of {', '.join(BASES)}, got {self.basis!r}")

    @property
    def name(self) -> str:
        """A readable name, unique among variants."""
        parts = ["rotated" if self.rotated else "pre-RoPE", "joint" if self.joint else "per head"]
        return ", ".join([*parts, f"rank {self.rank}", self.basis + (" spread" if self.spread else "")])

    def projections(self, moments: Moments, n_kv: int, head_dim: int) -> tuple[Tensor, Tensor]:
        """Return the query and key projections of a layer, float32 ``[n_idx, in_dim, rank]``."""
        width = n_kv * head_dim if self.joint else head_dim
        heads = 1 if self.joint else n_kv
        pairs = [self._head_projections(moments, slice(h * width, (h + 1) * width)) for h in range(heads)]
        query, key = (torch.stack(side) for side in zip(*pairs, strict=True))
        if self.spread:
            rotation = spreading_rotation(self.rank)
            query, key = query @ rotation, key @ rotation
        return query.float(), key.float()

    def _head_projections(self, moments: Moments, head: slice) -> tuple[Tensor, Tensor]:
        if self.basis == "query_aware":
            return query_aware_projections(
                moments.query_second_moment()[head, head], moments.key_covariance()[head, head], self.rank
            )
        if self.basis == "pca":
            basis = leading_eigenvectors(moments.key_second_moment()[head, head], self.rank)
        else:
            basis = torch.eye(head.stop - head.start, dtype=torch.float64)[:, : self.rank]
        return basis, basis


def leading_eigenvectors(moment: Tensor, rank: int) -> Tensor:
    """Return the eigenvectors of a symmetric matrix with the largest eigenvalues, as columns, largest first."""
    return torch.linalg.eigh(moment).eigenvectors.flip(1)[:, :rank].contiguous()


def query_aware_projections(query_moment: Tensor, key_covariance: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Return A, B of width ``rank`` that minimise E[(qᵀk − (Aᵀq)·(Bᵀk))²] over independent q and centred k.

    With the singular value decomposition Σq^½ Σk^½ = U S Vᵀ the minimiser is A Bᵀ = Σq^-½ U_r S_r V_rᵀ Σk^-½.
    The factor S is shared evenly, so that the latent query and the latent key have the same covariance S_r:
    among all factorisations that one has the smallest product of energies, and hence of int4 rounding errors.
    Shifting every key by a constant moves all scores of a query alike and changes no ranking, so the mean of the
    keys is left out of what must be approximated.
    """
    query_root, query_inverse = _roots(query_moment)
    key_root, key_inverse = _roots(key_covariance)
    left, values, right = torch.linalg.svd(query_root @ key_root)
    balance = values[:rank].sqrt()
    return (query_inverse @ left[:, :rank]) * balance, (key_inverse @ right.T[:, :rank]) * balance


def _roots(moment: Tensor) -> tuple[Tensor, Tensor]:
    """Return the symmetric square root of a positive semi-definite matrix and that root's inverse.

    Eigenvalues are floored at 1e-9 of the largest: directions that the calibration text never uses.
    """
    values, vectors = torch.linalg.eigh(moment)
    root = values.clamp_min(values[-1] * 1e-9).sqrt()
    return (vectors * root) @ vectors.T, (vectors / root) @ vectors.T


def spreading_rotation(rank: int) -> Tensor:
    """Return an orthogonal float64 matrix whose entries all have about the same size.

    A Hadamard matrix (Sylvester's) for powers of two; for other ranks the Kronecker product of one with the
    orthogonal cosine transform of the odd factor.
    """
    odd = rank // (rank & -rank)
    index = torch.arange(odd, dtype=torch.float64)
    matrix = torch.cos(math.pi / odd * (index[:, None] + 0.5) * index[None, :]) * math.sqrt(2 / odd)
    matrix[:, 0] = math.sqrt(1 / odd)
    butterfly = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64) / math.sqrt(2)
    while matrix.shape[0] < rank:
        matrix = torch.kron(butterfly, matrix)
    return matrix
