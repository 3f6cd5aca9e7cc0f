# SPDX-License-Identifier: Apache-2.0
"""How close an attention must come to the float64 one, each bound with its derivation.

`assert_output_close` and `assert_lse_close` raise AssertionError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Before rounding to the output dtype: relative L2 error of the two-term arithmetic against float64 over 20
# seeds, whatever the largest |logit|. The weights have a resolution of 1/(127 * 508) of their tile's maximum
# and the logits one of 1/(127 * 508) of the query's largest channel.
TWO_TERM_MEDIAN = 6e-4
TWO_TERM_MAX = 1.5e-3


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
    cosine = one_minus_cosine(actual, golden)
    assert cosine <= tolerance.cosine, f"1 - cosine must be at most {tolerance.cosine}, got {cosine:.3g}"


def assert_lse_close(actual: np.ndarray, golden: np.ndarray, largest_logit: float) -> None:
    """Compare LSEs; rows without a token are -inf in both."""
    np.testing.assert_array_equal(np.isneginf(actual), np.isneginf(golden))
    seen = np.isfinite(golden)
    atol = LSE_ABSOLUTE + LSE_RELATIVE * largest_logit
    np.testing.assert_allclose(actual[seen].astype(np.float64), golden[seen], rtol=0, atol=atol)
