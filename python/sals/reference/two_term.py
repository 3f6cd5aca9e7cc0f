# SPDX-License-Identifier: Apache-2.0
"""The two-term int8 arithmetic by which float rows meet an int8 cache without dequantising it.

A row x of floats with absolute maximum ``amax`` becomes two int8 rows,
``x ~= amax / 127 * (first + second / 254)``, an error of at most ``amax / (127 * 508)``. Both multiply int8
matrices exactly in int32. Everything else is float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FIRST_TERM = np.float32(127)
SECOND_TERM = np.float32(254)


def split(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split float32 values in [-127, 127] into ``first + second / 254``, both rounded half to even."""
    first = np.rint(y)
    second = np.rint(SECOND_TERM * (y - first))
    return first.astype(np.int32), second.astype(np.int32)


def product(first: np.ndarray, second: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Multiply ``(first + second / 254) @ codes``: exact integer products, combined in float32.

    The integers are far below 2^53, so float64 sums them exactly in any order, and faster than NumPy's int32.
    """
    codes = codes.astype(np.float64)
    one, two = (term.astype(np.float64) @ codes for term in (first, second))
    return one.astype(np.float32) + two.astype(np.float32) / SECOND_TERM


def split_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split float32 rows by their own absolute maximum; return first, second, amax. Zero rows give zeros."""
    amax = np.abs(x).max(axis=-1)
    factor = np.divide(FIRST_TERM, amax, out=np.zeros_like(amax), where=amax > 0)
    first, second = split(x * factor[..., None])
    return first, second, amax


@dataclass
class Partial:
    """Attention of some query rows over some tokens, before normalisation; `merge` is flash decoding.

    maximum, row_sum, exp_sum : float32 [rows] - largest logit, sum of the quantised and of the exact weights
    accumulator : float32 [rows, head_dim] - weighted sum of value codes
    """

    maximum: np.ndarray
    row_sum: np.ndarray
    exp_sum: np.ndarray
    accumulator: np.ndarray

    @classmethod
    def empty(cls, num_rows: int, head_dim: int) -> Partial:
        """Return the neutral element: no token."""
        zeros = np.zeros(num_rows, np.float32)
        return cls(
            np.full(num_rows, -np.inf, np.float32), zeros, zeros, np.zeros((num_rows, head_dim), np.float32)
        )

    def merge(self, later: Partial) -> Partial:
        """Attend to the tokens of this part and of a later one."""
        maximum = np.maximum(self.maximum, later.maximum)
        mine, theirs = (_rescale(part.maximum, maximum) for part in (self, later))
        return Partial(
            maximum,
            self.row_sum * mine + later.row_sum * theirs,
            self.exp_sum * mine + later.exp_sum * theirs,
            self.accumulator * mine[:, None] + later.accumulator * theirs[:, None],
        )


def _rescale(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """``exp(old - new)``, 0 for a part without tokens."""
    seen = ~np.isneginf(old)
    return np.exp(np.where(seen, old, 0) - np.where(seen, new, 0), dtype=np.float32) * seen


def tile_partial(logits: np.ndarray, values: np.ndarray, value_scale: np.ndarray | None) -> Partial:
    """Attention over one tile.

    Parameters
    ----------
    logits : float32 array, shape (rows, tokens)
        -inf where a row does not see a token.
    values : int8 array, shape (tokens, head_dim)
    value_scale : float32 array, shape (tokens,), or None
        Per-token scales, folded into the weights, which are then split by their own maximum. Static
        scales are per channel and applied to the final output instead.
    """
    maximum = logits.max(axis=-1)
    seen = ~np.isneginf(maximum)
    weights = np.exp(logits - np.where(seen, maximum, 0)[:, None], dtype=np.float32)
    first, second = split(FIRST_TERM * weights)
    sums = first.sum(axis=-1).astype(np.float32) + second.sum(axis=-1).astype(np.float32) / SECOND_TERM
    if value_scale is None:
        accumulator = product(first, second, values) / FIRST_TERM
    else:
        quantised = (first.astype(np.float32) + second.astype(np.float32) / SECOND_TERM) / FIRST_TERM
        first, second, amax = split_rows(quantised * value_scale)
        accumulator = product(first, second, values) * (amax / FIRST_TERM)[:, None]
    return Partial(maximum, sums / FIRST_TERM, weights.sum(axis=-1, dtype=np.float32), accumulator)
