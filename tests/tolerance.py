# SPDX-License-Identifier: Apache-2.0
"""Every tolerance of the test suite with its derivation, and the comparisons that use them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sals._contract import COVERAGE_ONE, INVALID_BLOCK
from sals.reference import rows, selection

# Block scores. The logits are the same float32 bits in every implementation (an exact integer product and
# two roundings), so only m + ln(sum exp(logit - m)) differs, m being exact. Let u = 2^-24.
#   exp: its argument is rounded, |d| u, and weighs exp(d), so at most u/e; the function adds 1 ulp <= 2u
#   sum of c positive terms in 8 or more partial sums: at most (c/8 + 3) u, 19 u at c = 128
#   ln turns the relative error of its argument into an absolute one, and adds 1 ulp of its result
#   the final addition rounds by 1/2 ulp of the score
# For c = 16 that is below 6u + 1.5 ulp, for c = 128 below 22u + 1.5 ulp. An ulp of ln c is 2^-22 = 4u for
# c = 16 and 2^-21 = 8u for c = 128, so 4 ulp of max(|score|, |m|, ln c) hold it for every block size.
SCORE_ULPS = 4

# Attention, before rounding to the output dtype: relative L2 error of the two-term arithmetic against
# float64 over 20 seeds in each bucket of the largest |logit|. The weights have a resolution of 1/(127 * 508)
# of their tile's maximum and the logits one of 1/(127 * 508) of the query's largest channel.
LOGIT_BUCKETS = (5.0, 20.0, 50.0, 180.0)
TWO_TERM_MEDIAN = 6e-4
TWO_TERM_MAX = 1.5e-3
# The same error with fp16 residuals and accumulators is larger by at least these factors (medians).
FP16_RATIO_LOW = 3.0  # largest |logit| up to 25
FP16_RATIO_HIGH = 9.0  # above
FP16_RATIO_BOUND = 25.0


@dataclass(frozen=True)
class OutputTolerance:
    """|out - golden| <= absolute + relative * |golden| for each element, and 1 - cosine over all."""

    absolute: float
    relative: float
    cosine: float


# Relative: two steps of the output's rounding (2^-8 for bfloat16, 2^-11 for float16: the nearest value, and
# its neighbour where the two-term error crosses a tie), and for float32 the two-term maximum itself.
# Absolute: the two-term maximum of elements that cancel to near zero; it scales with the values, which
# `assert_output_close` therefore takes relative to outputs of order 1.
OUTPUT = {
    "bfloat16": OutputTolerance(1e-3, 2 / 128, 5e-6),
    "float16": OutputTolerance(1e-3, 2 / 1024, 2e-6),
    "float32": OutputTolerance(1e-3, TWO_TERM_MAX, 2e-6),
}

# LSE: a logit of the two-term product is off by a random sum whose size, relative to the logits' own, is
# (amax / rms of the query) / (127 * 508 * sqrt(3)), about 3e-5; its maximum over some hundred tokens is
# about three times that. The float32 tail (exp, sum, ln) adds some ulp.
LSE_RELATIVE = 1e-4  # of the largest |logit|
LSE_ABSOLUTE = 1e-5

# A row cut elsewhere groups its slots into other steps, whose weights are rounded to units of another
# largest weight: half a unit u = 1 / (127 * 254) at most, twice. Errors of the up to 128 weights of a step
# have random signs, so they add up to sqrt(128 / 3) u / 2 twice, relative to the largest output, when one
# weight dominates. Merging in another order adds a few dozen float32 roundings, which is less.
PIECES_RELATIVE = 7 / (127 * 254)
PIECES_ROUNDING = 1e-5  # of the LSE, which the rounding of weights does not touch

# An implementation of the two-term arithmetic against the NumPy one: the same integers, but for float32
# values that differ in their last bits. Logits are off by some ulp of themselves and the exps by two, so a
# weight by w * 2^-21 * (1 + largest |logit|). Where that crosses a tie of the second term, the weight moves
# by a whole unit of it, 1/(127 * 254) of its tile's maximum; of a row with total weight l >= 1 few weights
# do, and their errors have random signs: two units over l hold. The result is relative to the largest value.
SECOND_TERM_UNIT = 1 / (127 * 254)
LAST_BITS = 2.0**-21


def score_tolerance(
    scores: np.ndarray, maxima: np.ndarray, block_size: int, ulps: int = SCORE_ULPS
) -> np.ndarray:
    """Allowed error of float32 block scores: some ulp of max(|score|, |m|, ln block_size)."""
    magnitude = np.maximum(np.maximum(np.abs(scores), np.abs(maxima)), math.log(block_size))
    finite = np.where(np.isfinite(magnitude), magnitude, 0.0)
    return ulps * np.spacing(finite.astype(np.float32)).astype(np.float64)


def assert_scores_close(actual: np.ndarray, golden: np.ndarray, maxima: np.ndarray, block_size: int) -> None:
    """Compare float32 block scores with the float64 ones; -inf must stand in the same places."""
    np.testing.assert_array_equal(np.isneginf(actual), np.isneginf(golden))
    allowed = score_tolerance(golden, maxima, block_size)
    for place in zip(*np.nonzero(np.isfinite(golden)), strict=True):
        error = abs(float(actual[place]) - golden[place])
        assert error <= allowed[place], (
            f"block score at {place}: got {actual[place]!r}, golden {golden[place]!r}, error {error:.3g}, "
            f"allowed {allowed[place]:.3g}"
        )


def relative_l2(actual: np.ndarray, golden: np.ndarray) -> float:
    """||actual - golden|| / ||golden||, 0 for two zero arrays."""
    norm = np.linalg.norm(golden)
    error = np.linalg.norm(actual.astype(np.float64) - golden)
    return float(error / norm) if norm else float(error)


def one_minus_cosine(actual: np.ndarray, golden: np.ndarray) -> float:
    """1 - cosine of the angle between two arrays, 0 for two zero arrays."""
    a, b = actual.astype(np.float64).ravel(), golden.ravel()
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(1 - a @ b / norms) if norms else 0.0


def assert_output_close(actual: np.ndarray, golden: np.ndarray, dtype: str) -> None:
    """Compare an attention output of `dtype` (as floats) with the float64 one."""
    tolerance = OUTPUT[dtype]
    absolute = tolerance.absolute * max(1.0, float(np.abs(golden).max(initial=0.0)))
    np.testing.assert_allclose(
        actual.astype(np.float64), golden, rtol=tolerance.relative, atol=absolute, equal_nan=False
    )
    assert one_minus_cosine(actual, golden) <= tolerance.cosine


def assert_lse_close(actual: np.ndarray, golden: np.ndarray, largest_logit: float) -> None:
    """Compare LSEs; rows without a token are -inf in both."""
    np.testing.assert_array_equal(np.isneginf(actual), np.isneginf(golden))
    seen = np.isfinite(golden)
    atol = LSE_ABSOLUTE + LSE_RELATIVE * largest_logit
    np.testing.assert_allclose(actual[seen].astype(np.float64), golden[seen], rtol=0, atol=atol)


def assert_same_arithmetic(
    actual: np.ndarray, expected: np.ndarray, largest_value: float, largest_logit: float
) -> None:
    """Compare float32 outputs of two implementations of the two-term arithmetic."""
    atol = largest_value * (2 * SECOND_TERM_UNIT + LAST_BITS * (1 + largest_logit))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def assert_same_lse(actual: np.ndarray, expected: np.ndarray, largest_logit: float) -> None:
    """Compare their LSEs, which come from weights that were not quantised."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=LAST_BITS * (1 + largest_logit))


def _split_list(
    ids: np.ndarray, visible: int, params: selection.SelectionParams
) -> tuple[list[int], list[int]]:
    """Kept candidates in list order, and the always kept blocks; checks that the row is well formed."""
    listed = [int(i) for i in ids if i != INVALID_BLOCK]
    total = selection.num_blocks(visible, params.block_size)
    candidates = selection.candidate_range(total, params)
    assert list(ids[: len(listed)]) == listed, f"-1 stands before a block: {list(ids)}"
    assert len(set(listed)) == len(listed), f"a block is listed twice: {listed}"
    assert all(0 <= i < total for i in listed), f"a block is outside [0, {total}): {listed}"
    kept = [i for i in listed if i in candidates]
    ordered = [
        *range(candidates.start), *(kept if params.order == "score" else sorted(kept)),
        *range(candidates.stop, total),
    ] if candidates else list(range(total))  # fmt: skip
    assert listed == ordered, f"the list is not in order {params.order!r}: {listed}"
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
    assert params.coverage > 0, f"kept {counts[0]} and {counts[1]} candidates in budget mode"
    ranked = selection.rank_candidates(scores64, candidates)
    mass = selection.masses(scores64[ranked])
    slack = (len(mass) + sum(mass) * relative_error) * COVERAGE_ONE
    for k in range(min(counts), max(counts)):
        distance = abs(sum(mass[:k]) * COVERAGE_ONE - params.coverage_q * sum(mass))
        assert distance <= slack, f"kept {counts}: the mass before candidate {k} is off by {distance}"


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
    assert fixed_a == fixed_b, f"sinks and tail differ: {fixed_a} and {fixed_b}"
    allowed = score_tolerance(scores64, maxima64, params.block_size, ulps)
    total = selection.num_blocks(visible, params.block_size)
    candidates = selection.candidate_range(total, params)
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
        assert difference <= max(allowed[a], allowed[b]), (
            f"blocks {a} and {b} are swapped, but their scores {scores64[a]!r} and {scores64[b]!r} differ by "
            f"{difference:.3g}, more than {max(allowed[a], allowed[b]):.3g}"
        )
    return len({a for a, _ in pairs}) + abs(len(kept_a) - len(kept_b))


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
    tensors = [rows.flatten_tokens(t, query_layout) for t in (ids_a, ids_b, scores64, maxima64)]
    list_s_q = ids_a.shape[1] if query_layout == "BSND" else None
    visible_of = dict.fromkeys(range(len(tensors[0])), 0)
    for token, _, visible in rows.list_tokens(
        seq_lens, list_s_q=list_s_q, query_lens=query_lens, query_start_loc=query_start_loc
    ):
        visible_of[token] = visible
    return sum(
        assert_selection_equivalent(*(t[token, head] for t in tensors), visible, params, ulps)
        for token, visible in visible_of.items()
        for head in range(tensors[0].shape[1])
    )
