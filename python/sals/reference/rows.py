# SPDX-License-Identifier: Apache-2.0
"""Query tokens and how many tokens each of them sees, for padded (BSND) and ragged (TND) batches.

Every per-query tensor is treated as ``[token rows, heads, ...]``: BSND's ``batch`` and ``s_q`` axes are one
axis here (``row = request * s_q + s``), which TND has already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sals._contract import QUERY_LAYOUTS


@dataclass(frozen=True)
class QueryToken:
    """One real query token: its row in the flattened tensors, its request, and what it sees."""

    row: int
    request: int
    offset: int
    q_len: int
    seq_len: int

    @property
    def causal_visible(self) -> int:
        """Tokens seen by this token when the newest `q_len` tokens are causal among themselves."""
        return max(self.seq_len - self.q_len + 1 + self.offset, 0)


def flatten_tokens(array: np.ndarray, query_layout: str) -> np.ndarray:
    """View a per-query tensor as [token rows, ...], whatever its query layout."""
    if query_layout not in QUERY_LAYOUTS:
        raise ValueError(f"query_layout must be one of {tuple(QUERY_LAYOUTS)}, got {query_layout!r}")
    array = np.asarray(array)
    return (
        array if query_layout == "TND" else array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
    )


def query_tokens(
    seq_lens: np.ndarray,
    *,
    s_q: int | None = None,
    query_lens: np.ndarray | None = None,
    query_start_loc: np.ndarray | None = None,
) -> Iterator[QueryToken]:
    """Walk the real query tokens of a batch in row order; padding rows are left out.

    Parameters
    ----------
    seq_lens : int array, shape (batch,)
        Tokens of each request in the cache, the new ones included.
    s_q : int, optional
        Token axis of a BSND query; required without `query_start_loc`.
    query_lens : int array, shape (batch,), optional
        Real query tokens of each request (BSND); all `s_q` without it.
    query_start_loc : int array, shape (batch + 1,), optional
        First row of each request (TND), ascending.
    """
    for request, seq_len in enumerate(np.asarray(seq_lens).tolist()):
        if query_start_loc is not None:
            first = int(query_start_loc[request])
            q_len = int(query_start_loc[request + 1]) - first
        else:
            assert s_q is not None
            first = request * s_q
            q_len = s_q if query_lens is None else int(query_lens[request])
        for offset in range(q_len):
            yield QueryToken(first + offset, request, offset, q_len, seq_len)


def list_tokens(
    seq_lens: np.ndarray,
    *,
    list_s_q: int | None = None,
    query_lens: np.ndarray | None = None,
    query_start_loc: np.ndarray | None = None,
) -> Iterator[tuple[int, int, int]]:
    """Walk the rows that own a block list: (row, request, visible tokens).

    With one list per request (token axis 1 in BSND) the list serves the newest token, so it sees all of
    ``seq_len``; a request without real query tokens (``query_lens`` 0) owns no list. Otherwise every query
    token owns a list of what it sees causally.
    """
    if query_start_loc is None and list_s_q == 1:
        for request, seq_len in enumerate(np.asarray(seq_lens).tolist()):
            if query_lens is None or int(query_lens[request]) > 0:
                yield request, request, max(seq_len, 0)
        return
    for token in query_tokens(seq_lens, s_q=list_s_q, query_lens=query_lens, query_start_loc=query_start_loc):
        yield token.row, token.request, token.causal_visible
