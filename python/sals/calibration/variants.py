# SPDX-License-Identifier: Apache-2.0
"""The indexes that calibration compares: which basis, before or after RoPE, per head or joint, which rank."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

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
        the leading eigenvectors of E[k kᵀ], as SALS does (arXiv 2510.24273). ``query_aware`` approximates q·k
        itself best, with two projections (:func:`query_aware_projections`).
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


class ProjectionFactory:
    """Builds the projections of variants; what variants of one basis share is computed once.

    Parameters
    ----------
    moments : dict of list of Moments
        Per layer, by ``rotated``.
    n_kv, head_dim : int
        Shape of a key.
    """

    def __init__(self, moments: dict[bool, list[Moments]], n_kv: int, head_dim: int):
        self._moments = moments
        self._n_kv = n_kv
        self._head_dim = head_dim
        self._full: dict[tuple[str, bool, bool], tuple[Tensor, Tensor]] = {}

    def projections(self, variant: Variant) -> tuple[Tensor, Tensor]:
        """Return query and key projection, float32 ``[n_layers, n_idx, in_dim, rank]``.

        Raises
        ------
        ValueError
            If the rank exceeds the width of what is projected, or cuts an identity.
        """
        in_dim = self._n_kv * self._head_dim if variant.joint else self._head_dim
        if variant.rank > in_dim or (variant.basis == "identity" and variant.rank != in_dim):
            raise ValueError(
                f"sals.calibrate: rank must be {'' if variant.basis == 'identity' else 'at most '}{in_dim} "
                f"for the variant {variant.name!r} of this model"
            )
        full = self._bases(variant.basis, variant.rotated, variant.joint)
        query, key = (side[..., : variant.rank] for side in full)
        if variant.spread:
            rotation = spreading_rotation(variant.rank)
            query, key = query @ rotation, key @ rotation
        return query.float().contiguous(), key.float().contiguous()

    def _bases(self, basis: str, rotated: bool, joint: bool) -> tuple[Tensor, Tensor]:
        """Return the full-rank bases, best columns first, float64 ``[n_layers, n_idx, in_dim, in_dim]``."""
        wanted = (basis, rotated, joint)
        if wanted not in self._full:
            key = self._stack(rotated, joint, Moments.key_second_moment)
            if basis == "identity":
                eye = torch.eye(key.shape[-1], dtype=key.dtype).expand_as(key)
                self._full[wanted] = eye, eye
            elif basis == "pca":
                vectors = leading_eigenvectors(key)
                self._full[wanted] = vectors, vectors
            else:
                query = self._stack(rotated, joint, Moments.query_second_moment)
                centred = self._stack(rotated, joint, Moments.key_covariance)
                self._full[wanted] = query_aware_projections(query, centred)
        return self._full[wanted]

    def _stack(self, rotated: bool, joint: bool, moment: Callable[[Moments], Tensor]) -> Tensor:
        matrices = torch.stack([moment(layer) for layer in self._moments[rotated]])
        if joint:
            return matrices[:, None]
        heads = [slice(h * self._head_dim, (h + 1) * self._head_dim) for h in range(self._n_kv)]
        return torch.stack([matrices[:, head, head] for head in heads], dim=1)


def leading_eigenvectors(moment: Tensor) -> Tensor:
    """Return the eigenvectors of symmetric matrices as columns, largest eigenvalue first."""
    return torch.linalg.eigh(moment).eigenvectors.flip(-1)


def query_aware_projections(query_moment: Tensor, key_covariance: Tensor) -> tuple[Tensor, Tensor]:
    """Return A, B whose first r columns minimise E[(qᵀk − (A_rᵀq)·(B_rᵀk))²] over independent q and centred k.

    With the singular value decomposition Σq^½ Σk^½ = U S Vᵀ the minimiser of rank r is
    A_r B_rᵀ = Σq^-½ U_r S_r V_rᵀ Σk^-½.
    The factor S is shared evenly, so that the latent query and the latent key have the same covariance S_r:
    among all factorisations that one has the smallest product of energies, and hence of int4 rounding errors.
    Shifting every key by a constant moves all scores of a query alike and changes no ranking, so the mean of the
    keys is left out of what must be approximated.
    """
    query_root, query_inverse = _roots(query_moment)
    key_root, key_inverse = _roots(key_covariance)
    left, values, right = torch.linalg.svd(query_root @ key_root)
    balance = values.sqrt()[..., None, :]
    return query_inverse @ left * balance, key_inverse @ right.mT * balance


def _roots(moment: Tensor) -> tuple[Tensor, Tensor]:
    """Return the symmetric square root of positive semi-definite matrices and that root's inverse.

    Eigenvalues are floored at 1e-9 of the largest: directions that the calibration text never uses.
    """
    values, vectors = torch.linalg.eigh(moment)
    root = torch.maximum(values, values[..., -1:] * 1e-9).sqrt()[..., None, :]
    return vectors * root @ vectors.mT, vectors / root @ vectors.mT


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


def default_variants(n_kv: int, head_dim: int) -> tuple[Variant, ...]:
    """Return the variants that calibration tries unless told otherwise.

    Per head, after and before RoPE, from the full rank down to a quarter, with every basis; and the joint index,
    whose rank head_dim before RoPE with ``pca`` is the one of the SALS paper.
    """
    ranks = [rank for rank in (head_dim, head_dim // 2, head_dim // 4) if rank % 8 == 0]
    variants = []
    for rotated in (True, False):
        variants += [Variant("identity", head_dim, rotated, spread=spread) for spread in (False, True)]
        variants += [
            Variant(basis, rank, rotated, spread=spread)
            for rank in ranks
            for basis, spread in (("pca", False), ("pca", True), ("query_aware", True))
        ]
        if n_kv > 1:
            variants += [
                Variant("pca", head_dim, rotated, joint=True),
                Variant("query_aware", head_dim, rotated, joint=True, spread=True),
            ]
    return tuple(variants)
