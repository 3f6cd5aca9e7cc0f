# SPDX-License-Identifier: Apache-2.0
"""Symmetric quantisation: scales, rounding, zero, and clamping."""

from __future__ import annotations

import numpy as np

from sals.reference.quantize import (
    channel_scale,
    quantize_int4,
    quantize_int8_per_token,
    quantize_int8_static,
)


def test_int4_by_hand():
    codes, scale = quantize_int4(np.array([7.0, -3.5, 2.5, 0.5, 1.5, -0.5, 0.0, -7.0], np.float32))
    assert scale == 1
    assert codes.tolist() == [7, -4, 2, 0, 2, 0, 0, -7]  # halves go to the even neighbour


def test_int8_by_hand():
    codes, scale = quantize_int8_per_token(np.array([[254.0, 1.0, 3.0, -5.0], [1, 0, 0, 0]], np.float32))
    np.testing.assert_array_equal(scale, np.array([2, np.float32(1) / np.float32(127)], np.float32))
    assert codes.tolist() == [[127, 0, 2, -2], [127, 0, 0, 0]]


def test_zero_vectors_have_scale_and_codes_zero():
    for quantize in (quantize_int4, quantize_int8_per_token):
        codes, scale = quantize(np.zeros((2, 8), np.float32))
        assert not codes.any() and not scale.any()
    assert not quantize_int8_static(np.ones((3, 2, 8)), np.zeros((2, 8), np.float32)).any()


def test_static_scales_clamp():
    codes = quantize_int8_static(np.array([[[1000.0, -1000.0, 1.0]]]), np.ones((1, 3), np.float32))
    assert codes.tolist() == [[[127, -128, 1]]]


def test_error_is_at_most_half_a_step():
    x = np.random.default_rng(5).standard_normal((50, 3, 64)).astype(np.float32)
    for quantize in (quantize_int4, quantize_int8_per_token):
        codes, scale = quantize(x)
        # The quotient is rounded to float32 before it is rounded to an integer: a hair over one half.
        assert np.all(np.abs(codes * scale[..., None] - x) <= scale[..., None] * 0.50001)
    scale = channel_scale(x)
    assert scale.shape == (3, 64)
    assert np.all(np.abs(quantize_int8_static(x, scale) * scale - x) <= scale * 0.50001)
