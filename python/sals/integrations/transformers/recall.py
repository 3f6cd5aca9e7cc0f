# SPDX-License-Identifier: Apache-2.0
"""How much of the attention the chosen blocks hold, for those who ask."""

from __future__ import annotations

import dataclasses
import math

from torch import Tensor

from .cache import SalsCache


@dataclasses.dataclass
class Recall:
    """Sums over the sparse layers of recorded passes.

    The mass that the chosen blocks hold of a query's attention is ``exp(lse_listed - lse_all)``, both from
    the same operator over the same int8 cache: once with the chosen blocks, once with all.
    """

    mass: float = 0.0
    rows: int = 0  # query tokens and heads behind `mass`
    listed_tokens: float = 0.0
    visible_tokens: float = 0.0

    def add(self, lse_listed: Tensor, lse_all: Tensor, selected_lens: Tensor, seq_lens: Tensor) -> None:
        """Record one sparse layer of one pass.

        Parameters
        ----------
        lse_listed, lse_all : Tensor[float32], shape (batch, s_q, n_q)
            Log-sum-exp over the listed tokens, and over all visible ones; -inf in padding rows.
        selected_lens : Tensor[int32], shape (batch, s_q, n_idx)
            Listed tokens.
        seq_lens : Tensor[int32], shape (batch,)
            Tokens of the requests.
        """
        is_token = lse_all > -math.inf
        self.mass += float((lse_listed - lse_all)[is_token].exp().sum())
        self.rows += int(is_token.sum())
        self.listed_tokens += float(selected_lens.float().mean(dim=(1, 2)).sum())
        self.visible_tokens += float(seq_lens.sum())

    @property
    def mean_mass(self) -> float:
        """Mean share of dense attention that the chosen blocks hold; 1 if no layer was sparse."""
        return self.mass / self.rows if self.rows else 1.0

    @property
    def listed_share(self) -> float:
        """Share of the visible tokens that were listed."""
        return self.listed_tokens / self.visible_tokens if self.visible_tokens else 1.0

    def bytes_read(self, cache: SalsCache, seq_len: int) -> int:
        """Bytes of KV cache and index that a step of one request reads in all layers, with this share."""
        spec = cache.spec
        num_dense = len(cache.calibration.dense_layers)
        num_sparse = len(cache.layers) - num_dense
        sparse_token = spec.index_bytes_per_token + self.listed_share * spec.kv_bytes_per_token
        return round(seq_len * (num_sparse * sparse_token + num_dense * spec.kv_bytes_per_token))
