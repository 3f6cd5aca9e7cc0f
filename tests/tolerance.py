# SPDX-License-Identifier: Apache-2.0
"""Every tolerance of the test suite with its derivation, and the comparisons that use them.

Those of lists of blocks and of attention are in the package, where `sals sim` needs them, too.
"""

from __future__ import annotations

import numpy as np

from sals.reference.closeness import (  # noqa: F401 - tests find every tolerance here
    TWO_TERM_MAX,
    TWO_TERM_MEDIAN,
    assert_lse_close,
    assert_output_close,
    relative_l2,
)
from sals.reference.equivalence import score_tolerance
from sals.reference.int4 import unpack_int4

# The largest |logit| of the problems in which relative errors of attention are measured.
LOGIT_BUCKETS = (5.0, 20.0, 50.0, 180.0)
# The error with fp16 residuals and accumulators is larger than the two-term one by at least these factors
# (medians).
FP16_RATIO_LOW = 3.0  # largest |logit| up to 25
FP16_RATIO_HIGH = 9.0  # above
FP16_RATIO_BOUND = 25.0

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

UNIT = 2.0**-24  # relative error of one float32 rounding


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


def assert_same_arithmetic(
    actual: np.ndarray, expected: np.ndarray, largest_value: float, largest_logit: float
) -> None:
    """Compare float32 outputs of two implementations of the two-term arithmetic."""
    atol = largest_value * (2 * SECOND_TERM_UNIT + LAST_BITS * (1 + largest_logit))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def assert_same_lse(actual: np.ndarray, expected: np.ndarray, largest_logit: float) -> None:
    """Compare their LSEs, which come from weights that were not quantised."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=LAST_BITS * (1 + largest_logit))


def assert_nearest_codes(
    packed: np.ndarray, scale: np.ndarray, inputs: np.ndarray, projection: np.ndarray, factor: float = 1.0
) -> None:
    """Compare int4 codes and scales of float32 latents with the float64 ones of inputs [..., in_dim].

    A sum of in_dim products, of inputs that were themselves summed and divided, is off by at most
    (in_dim + 20) roundings of the sum of magnitudes, in whatever order it is taken (at most 16 query heads
    make a mean). A code must be a nearest one within that error.
    """
    latent = np.einsum("...hi,hir->...hr", inputs, projection.astype(np.float64))
    magnitude = np.einsum("...hi,hir->...hr", np.abs(inputs), np.abs(projection).astype(np.float64))
    error = (inputs.shape[-1] + 20) * UNIT * magnitude
    golden = np.abs(latent).max(axis=-1) / 7
    scale_error = error.max(axis=-1) / 7 + 4 * UNIT * golden
    assert np.all(np.abs(scale / factor - golden) <= scale_error + 4 * UNIT * golden)
    codes = unpack_int4(packed)
    assert codes.min() >= -7 and codes.max() <= 7
    step = golden[..., None]
    slack = (error + np.abs(latent) / step * scale_error[..., None]) / step
    assert np.all(np.abs(codes - latent / step) <= 0.5 + slack)
