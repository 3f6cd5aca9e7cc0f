# SPDX-License-Identifier: Apache-2.0
"""When two implementations of the indexer agree: how far scores may differ, and what that does to lists."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from sals._contract import COVERAGE_ONE, INVALID_BLOCK
from sals.reference import rows, selection
from sals.reference.qsi import block_scores, select_from_scores

# Block scores. The logits are the same float32 bits in every implementation (an exact integer product and
# two roundings), so only m + ln(sum exp(logit - m)) differs, m being exact. Let u = 2^-24.
#   exp: its argument is rounded, |d| u, and weighs exp(d), so at most u/e; the function adds 1 ulp <= 2u
#   sum of c positive terms in 8 or more partial sums: at most (c/8 + 3) u, 19 u at c = 128
#   ln turns the relative error of its argument into an absolute one, and adds 1 ulp of its result
#   the final addition rounds by 1/2 ulp of the score
# For c = 16 that is below 6u + 1.5 ulp, for c = 128 below 22u + 1.5 ulp. An ulp of ln c is 2^-22 = 4u for
# c = 16 and 2^-21 = 8u for c = 128, so 4 ulp of max(|score|, |m|, ln c) hold it for every block size.
SCORE_ULPS = 4


def score_tolerance(
    scores: np.ndarray, maxima: np.ndarray, block_size: int, ulps: int = SCORE_ULPS
) -> np.ndarray:
    """Return the allowed error of float32 block scores: some ulp of max(|score|, |m|, ln block_size)."""
    magnitude = np.maximum(np.maximum(np.abs(scores), np.abs(maxima)), math.log(block_size))
    finite = np.where(np.isfinite(magnitude), magnitude, 0.0)
    return ulps * np.spacing(finite.astype(np.float32)).astype(np.float64)


class DisagreementError(AssertionError):
    """Two lists differ by more than rounding explains."""


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise DisagreementError(sentence)


def _split_list(
    ids: np.ndarray, visible: int, params: selection.SelectionParams
) -> tuple[list[int], list[int]]:
    """Kept candidates in list order, and the always kept blocks; checks that the row is well formed."""
    listed = [int(i) for i in ids if i != INVALID_BLOCK]
    total = selection.num_blocks(visible, params.block_size)
    candidates = selection.candidate_range(total, params)
    _require(list(ids[: len(listed)]) == listed, f"-1 stands before a block: {list(ids)}")
    _require(len(set(listed)) == len(listed), f"a block is listed twice: {listed}")
    _require(all(0 <= i < total for i in listed), f"a block is outside [0, {total}): {listed}")
    kept = [i for i in listed if i in candidates]
    ordered = [
        *range(candidates.start), *(kept if params.order == "score" else sorted(kept)),
        *range(candidates.stop, total),
    ] if candidates else list(range(total))  # fmt: skip
    _require(listed == ordered, f"the list is not in order {params.order!r}: {listed}")
    return kept, [i for i in listed if i not in candidates]


def _assert_counts_equivalent(
    counts: tuple[int, int],
    scores64: np.ndarray,
    candidates: range,
    params: selection.SelectionParams,
    relative_error: float,
) -> None:
    """Two kept counts may differ in coverage mode only, by candidates whose mass is at the threshold.

    A mass is off by a unit for its rounding and by w * relative_error for its score, so the comparison of the
    mass before a candidate with coverage * sum is off by at most n + sum * relative_error units.
    """
    _require(params.coverage > 0, f"kept {counts[0]} and {counts[1]} candidates in budget mode")
    ranked = selection.rank_candidates(scores64, candidates)
    mass = selection.masses(scores64[ranked])
    slack = (len(mass) + sum(mass) * relative_error) * COVERAGE_ONE
    for k in range(min(counts), max(counts)):
        distance = abs(sum(mass[:k]) * COVERAGE_ONE - params.coverage_q * sum(mass))
        _require(distance <= slack, f"kept {counts}: the mass before candidate {k} is off by {distance}")


def _require_lower_ids_first(kept: list[int], scores64: np.ndarray, candidates: range, order: str) -> None:
    """Blocks of equal scores, such as copies of one block, compete by their ids in any arithmetic."""
    scores = np.where(np.isnan(scores64), -np.inf, scores64)
    for before, after in zip(kept[:-1], kept[1:], strict=True):
        if order == "score" and scores[before] == scores[after]:
            _require(before < after, f"blocks {before} and {after} of equal scores are in the wrong order")
    best = sorted(candidates, key=lambda i: (-scores[i], i))
    chosen = set(kept)
    for lower, higher in zip(best[:-1], best[1:], strict=True):
        if scores[lower] == scores[higher]:
            _require(
                lower in chosen or higher not in chosen,
                f"block {higher} is kept instead of {lower}, which has the same score",
            )


def assert_selection_equivalent(
    ids_a: np.ndarray,
    ids_b: np.ndarray,
    scores64: np.ndarray,
    maxima64: np.ndarray,
    visible: int,
    params: selection.SelectionParams,
    ulps: int = SCORE_ULPS,
) -> int:
    """Accept two lists of one row if they differ only by blocks whose float64 scores are equal in float32.

    Blocks whose float64 scores are equal may not be exchanged.

    Parameters
    ----------
    ids_a, ids_b : int array, shape (width,)
        Lists padded with -1.
    scores64, maxima64 : float64 array, shape (blocks,)
        Golden score and largest logit of every block.
    visible, params
        Of the row.
    ulps : int
        Allowed difference of swapped blocks in float32 ulp of max(|score|, |m|, ln block_size); 0 when both
        lists were made from the same scores.

    Returns
    -------
    int
        How many places differ, each of them proved to be a near tie.
    """
    (kept_a, fixed_a), (kept_b, fixed_b) = (_split_list(ids, visible, params) for ids in (ids_a, ids_b))
    _require(fixed_a == fixed_b, f"sinks and tail differ: {fixed_a} and {fixed_b}")
    allowed = score_tolerance(scores64, maxima64, params.block_size, ulps)
    total = selection.num_blocks(visible, params.block_size)
    candidates = selection.candidate_range(total, params)
    for kept in (kept_a, kept_b):
        _require_lower_ids_first(kept, scores64, candidates, params.order)
    if len(kept_a) != len(kept_b):
        near = 2 * float(allowed[candidates.start : candidates.stop].max())
        _assert_counts_equivalent((len(kept_a), len(kept_b)), scores64, candidates, params, near)
    shared = min(len(kept_a), len(kept_b))
    if params.order == "score":
        pairs = [(a, b) for a, b in zip(kept_a[:shared], kept_b[:shared], strict=True) if a != b]
    elif len(kept_a) == len(kept_b):
        pairs = [(a, b) for a in set(kept_a) - set(kept_b) for b in set(kept_b) - set(kept_a)]
    else:
        longer, shorter = sorted((set(kept_a), set(kept_b)), key=len, reverse=True)
        pairs = [(out, kept) for out in shorter - longer for kept in longer - shorter]
    for a, b in pairs:
        difference = abs(scores64[a] - scores64[b]) if scores64[a] != scores64[b] else 0.0
        _require(
            difference <= max(allowed[a], allowed[b]),
            f"blocks {a} and {b} are swapped, but their scores {scores64[a]!r} and {scores64[b]!r} differ by "
            f"{difference:.3g}, more than {max(allowed[a], allowed[b]):.3g}",
        )
    return len({a for a, _ in pairs}) + abs(len(kept_a) - len(kept_b))


def _visible_rows(
    block_ids: np.ndarray,
    seq_lens: np.ndarray,
    *,
    query_lens: np.ndarray | None = None,
    query_start_loc: np.ndarray | None = None,
    query_layout: str = "BSND",
) -> dict[int, int]:
    """Visible tokens of every token row; 0 for those that belong to no query token."""
    list_s_q = block_ids.shape[1] if query_layout == "BSND" else None
    token_rows = block_ids.shape[0] * (list_s_q or 1)
    visible_of = dict.fromkeys(range(token_rows), 0)
    for token, _, visible in rows.list_tokens(
        seq_lens, list_s_q=list_s_q, query_lens=query_lens, query_start_loc=query_start_loc
    ):
        visible_of[token] = visible
    return visible_of


def assert_selections_equivalent(
    ids_a: np.ndarray,
    ids_b: np.ndarray,
    scores64: np.ndarray,
    maxima64: np.ndarray,
    seq_lens: np.ndarray,
    params: selection.SelectionParams,
    *,
    query_lens: np.ndarray | None = None,
    query_start_loc: np.ndarray | None = None,
    query_layout: str = "BSND",
    ulps: int = SCORE_ULPS,
) -> int:
    """Apply `assert_selection_equivalent` to every row of two ``block_ids``; padding rows are all -1."""
    visible_of = _visible_rows(
        ids_a, seq_lens, query_lens=query_lens, query_start_loc=query_start_loc, query_layout=query_layout
    )
    ids_a, ids_b, scores, maxima = (
        rows.flatten_tokens(tensor, query_layout) for tensor in (ids_a, ids_b, scores64, maxima64)
    )
    return sum(
        assert_selection_equivalent(
            ids_a[token, head],
            ids_b[token, head],
            scores[token, head],
            maxima[token, head],
            visible,
            params,
            ulps,
        )
        for token, visible in visible_of.items()
        for head in range(ids_a.shape[1])
    )


class QsiGolden:
    """What every implementation of ``sals::qsi`` must return for one call, but for near ties of scores.

    Parameters
    ----------
    *tensors, **keywords
        Arguments of `sals.reference.qsi`.
    """

    def __init__(self, *tensors: np.ndarray, **keywords: Any) -> None:
        names = [field.name for field in dataclasses.fields(selection.SelectionParams)]
        self._params = selection.SelectionParams(**{n: keywords.pop(n) for n in names if n in keywords})
        scores = {**keywords, "block_size": self._params.block_size}
        self._scores = block_scores(*tensors, **scores)
        self._maxima = block_scores(*tensors, **scores, reduce=np.max)
        self._seq_lens = tensors[4]
        shared = ("query_lens", "query_start_loc", "query_layout")
        self._batch = {name: keywords[name] for name in shared if name in keywords}
        self.block_ids, _ = select_from_scores(
            self._scores, self._seq_lens, self._params, max_seq_len=keywords["max_seq_len"], **self._batch
        )

    def check(self, block_ids: np.ndarray, selected_lens: np.ndarray) -> int:
        """Raise DisagreementError unless a result is right; return how many places are near ties."""
        _require(
            block_ids.shape == self.block_ids.shape,
            f"block_ids must have shape {self.block_ids.shape}, got {block_ids.shape}",
        )
        ties = assert_selections_equivalent(
            block_ids, self.block_ids, self._scores, self._maxima, self._seq_lens, self._params, **self._batch
        )
        self._check_lens(block_ids, selected_lens)
        return ties

    def _check_lens(self, block_ids: np.ndarray, selected_lens: np.ndarray) -> None:
        query_layout = self._batch.get("query_layout", "BSND")
        ids, lens = (rows.flatten_tokens(tensor, query_layout) for tensor in (block_ids, selected_lens))
        expected = np.zeros_like(lens)
        for token, visible in _visible_rows(block_ids, self._seq_lens, **self._batch).items():
            for head in range(ids.shape[1]):
                row = ids[token, head].tolist()
                expected[token, head] = selection.selected_len(row, visible, self._params.block_size)
        wrong = np.argwhere(lens != expected)
        _require(
            not len(wrong),
            f"selected_lens of row and head {wrong[:1].tolist()} must be the tokens in their blocks",
        )
