# SPDX-License-Identifier: Apache-2.0
"""What each query token attends to: the slots of its block list, and the cached rows in them.

Every entry of a list owns ``block_size`` slots, in list order. A slot is *seen* when its entry is not -1 and
its token lies below what the query token sees; the others count for nothing. A repeated id is seen twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sals._contract import INVALID_BLOCK
from sals.reference import layouts, rows, selection


@dataclass(frozen=True)
class ListedRow:
    """One query token and KV head with its slots.

    list_row : int - row of the list among all lists, ``token_row * n_kv + head``, as plans count them
    query : float32 [group, head_dim]
    keys, values : int8 [slots, head_dim]; slots that are not seen hold some other token
    key_scale, value_scale : float32 [head_dim] if `static_scales`, else [slots]
    seen : bool [slots]
    """

    list_row: int
    query: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    key_scale: np.ndarray
    value_scale: np.ndarray
    static_scales: bool
    seen: np.ndarray


@dataclass(frozen=True)
class SfaaArguments:
    """The arguments of ``sals::sfaa`` that decide its result; see `sals.reference.sfaa` for their shapes."""

    query: np.ndarray
    key_cache: np.ndarray
    value_cache: np.ndarray | None
    key_scale: np.ndarray
    value_scale: np.ndarray
    block_ids: np.ndarray
    seq_lens: np.ndarray
    query_lens: np.ndarray | None = None
    query_start_loc: np.ndarray | None = None
    block_table: np.ndarray | None = None
    block_size: int = selection.SelectionParams.block_size
    layout: str = "PA_BNSD"
    query_layout: str = "BSND"
    causal: bool = True

    @property
    def n_kv(self) -> int:
        """KV heads."""
        return layouts.heads_of(self.key_cache, self.layout)

    def list_ids(self, token: rows.QueryToken, head: int) -> tuple[int, np.ndarray]:
        """List row and block ids of a query token and head; axes of size 1 are shared."""
        flat = rows.flatten_tokens(self.block_ids, self.query_layout)
        shared = self.query_layout == "BSND" and self.block_ids.shape[1] == 1
        token_row = token.request if shared else token.row
        return token_row * self.n_kv + head, flat[token_row, 0 if flat.shape[1] == 1 else head]

    def slots(self, ids: np.ndarray, token: rows.QueryToken) -> tuple[np.ndarray, np.ndarray]:
        """Token position of each slot of a list (0 where not seen) and whether it is seen."""
        listed = ids != INVALID_BLOCK
        limit = selection.num_blocks(token.seq_len, self.block_size)
        if np.any(listed & ((ids < 0) | (ids >= limit))):
            raise ValueError(f"sals::sfaa: block_ids must be -1 or in [0, {limit}), got {ids.tolist()}")
        visible = token.causal_visible if self.causal else max(token.seq_len, 0)
        positions = ids.astype(np.int64)[:, None] * self.block_size + np.arange(self.block_size)
        seen = (listed[:, None] & (positions < visible)).reshape(-1)
        return np.where(seen, positions.reshape(-1), 0), seen

    def _cached(
        self,
        cache: np.ndarray,
        scale: np.ndarray,
        request: int,
        head: int,
        positions: np.ndarray,
        component: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        place = (self.layout, self.block_table, request, head, positions)
        static = scale.ndim == 2
        scales = scale[head] if static else layouts.gather_scales(scale, *place)
        return layouts.gather_tokens(cache, *place, component), scales.astype(np.float32)

    def listed_row(self, token: rows.QueryToken, head: int) -> ListedRow | None:
        """Gather a query token's slots of one head; None if it sees no token."""
        if token.causal_visible == 0 and (self.causal or token.seq_len <= 0):
            return None
        list_row, ids = self.list_ids(token, head)
        positions, seen = self.slots(ids, token)
        if not seen.any():
            return None
        query = rows.flatten_tokens(self.query, self.query_layout)[token.row]
        group, head_dim = query.shape[0] // self.n_kv, query.shape[1]
        value_cache = self.key_cache if self.value_cache is None else self.value_cache
        keys, key_scale = self._cached(
            self.key_cache, self.key_scale, token.request, head, positions, layouts.KEY
        )
        values, value_scale = self._cached(
            value_cache, self.value_scale, token.request, head, positions, layouts.VALUE
        )
        return ListedRow(
            list_row,
            query[head * group : (head + 1) * group].astype(np.float32),
            keys[:, :head_dim],
            values[:, :head_dim],
            key_scale,
            value_scale,
            self.key_scale.ndim == 2,
            seen,
        )

    def tokens(self) -> Iterator[rows.QueryToken]:
        """Real query tokens in row order."""
        s_q = self.query.shape[1] if self.query_layout == "BSND" else None
        return rows.query_tokens(
            self.seq_lens, s_q=s_q, query_lens=self.query_lens, query_start_loc=self.query_start_loc
        )


def attend_rows(
    arguments: SfaaArguments, attend: Callable[[ListedRow], tuple[np.ndarray, np.ndarray]], dtype: type
) -> tuple[np.ndarray, np.ndarray]:
    """Run `attend` on every row that sees a token, and place its results.

    Parameters
    ----------
    attend : callable
        Returns the output [group, head_dim] and the LSE [group] of one row.
    dtype : numpy dtype
        Of both results.

    Returns
    -------
    out : array, shape of the query
        Zeros for query tokens that see nothing.
    lse : array, shape of the query without head_dim
        -inf for query tokens that see nothing.
    """
    shape = arguments.query.shape
    out = np.zeros((int(np.prod(shape[:-2])), *shape[-2:]), dtype)
    lse = np.full(out.shape[:2], -np.inf, dtype)
    group = shape[-2] // arguments.n_kv
    for token in arguments.tokens():
        for head in range(arguments.n_kv):
            row = arguments.listed_row(token, head)
            if row is not None:
                heads = slice(head * group, (head + 1) * group)
                out[token.row, heads], lse[token.row, heads] = attend(row)
    return out.reshape(shape), lse.reshape(shape[:-1])
