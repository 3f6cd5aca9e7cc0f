# SPDX-License-Identifier: Apache-2.0
"""The indexes that calibration compares: which basis, before or after RoPE, per head or joint, which rank."""

from __future__ import annotations

import dataclasses
import math

import torch
from torch import Tensor

from .moments import Moments

BASES = ("identity", "pca")


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to make the index.

    Parameters
    ----------
    basis : {"identity", "pca"}
        ``identity`` keeps the channels as they are (rank = in_dim only). ``pca`` projects queries and keys on
        the leading eigenvectors of E[k kᵀ], as SALS does (arXiv 2510.24273).
    rank : int
        Width of the index per index head.
    rotated : bool
        After RoPE (True) or before it.
    joint : bool
        One index for all KV heads, or one per KV head.
    spread : bool
        Multiply the projection by an orthogonal matrix that spreads the energy evenly over the channels,
        which suits the common int4 scale of a token better than a few large channels do.
    """

    basis: str
    rank: int
    rotated: bool
    joint: bool = False
    spread: bool = False

    def __post_init__(self) -> None:
        """Check the basis."""
        if self.basis not in BASES:
            raise ValueError(f"sals.calibrate: basis must be one of {', '.join(BASES)}, got {self.basis!r}")

    @property
    def name(self) -> str:
        """A readable name, unique among variants."""
        parts = ["rotated" if self.rotated else "pre-RoPE", "joint" if self.joint else "per head"]
        return ", ".join([*parts, f"rank {self.rank}", self.basis + (" spread" if self.spread else "")])


class ProjectionFactory:
    """Builds the projections of variants; the decomposition that variants share is made once.

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
        self._full: dict[tuple[str, bool, bool], Tensor] = {}

    def projection(self, variant: Variant) -> Tensor:
        """Return the projection of queries and keys, float32 ``[n_layers, n_idx, in_dim, rank]``.

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
        projection = self._basis(variant.basis, variant.rotated, variant.joint)[..., : variant.rank]
        if variant.spread:
            projection = projection @ spreading_rotation(variant.rank)
        return projection.float().contiguous()

    def _basis(self, basis: str, rotated: bool, joint: bool) -> Tensor:
        """Return the full-rank basis, best columns first, float64 ``[n_layers, n_idx, in_dim, in_dim]``."""
        wanted = (basis, rotated, joint)
        if wanted not in self._full:
            moment = self._stack(rotated, joint)
            if basis == "pca":
                self._full[wanted] = leading_eigenvectors(moment)
            else:
                self._full[wanted] = torch.eye(moment.shape[-1], dtype=moment.dtype).expand_as(moment)
        return self._full[wanted]

    def _stack(self, rotated: bool, joint: bool) -> Tensor:
        """Return E[k kᵀ] of every layer and index head, the latter as diagonal blocks of the joint moment."""
        matrices = torch.stack([layer.second_moment() for layer in self._moments[rotated]])
        if joint:
            return matrices[:, None]
        heads = [slice(h * self._head_dim, (h + 1) * self._head_dim) for h in range(self._n_kv)]
        return torch.stack([matrices[:, head, head] for head in heads], dim=1)


def leading_eigenvectors(moment: Tensor) -> Tensor:
    """Return the eigenvectors of symmetric matrices as columns, largest eigenvalue first."""
    return torch.linalg.eigh(moment).eigenvectors.flip(-1)


def spreading_rotation(rank: int) -> Tensor:
    """Return an orthogonal float64 matrix whose entries all have about the same size.

    A Hadamard matrix (Sylvester's) for powers of two; for other ranks its Kronecker product with the
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

    Per head, after and before RoPE, from the full rank down to a quarter; and the joint index, whose rank
    head_dim before RoPE without spreading is the one of the SALS paper.
    """
    ranks = [rank for rank in (head_dim, head_dim // 2, head_dim // 4) if rank % 8 == 0]
    return tuple(
        Variant(basis, rank, rotated, joint, spread)
        for rotated in (True, False)
        for basis, rank, joint in (
            ("identity", head_dim, False),
            *(("pca", rank, False) for rank in ranks),
            *([("pca", head_dim, True)] if n_kv > 1 else []),
        )
        for spread in (False, True)
    )
