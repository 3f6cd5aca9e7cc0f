# SPDX-License-Identifier: Apache-2.0
"""Packing of int4 codes."""

from __future__ import annotations

import numpy as np
import pytest

from sals.reference.int4 import pack_int4, unpack_int4


def test_low_nibble_first_and_twos_complement():
    packed = pack_int4(np.array([1, 2, 0, 0, 0, 0, 0, -1]))
    assert packed.dtype == np.int32
    assert packed.view(np.uint32).tolist() == [0xF0000021]
    assert pack_int4(np.array([-8, 7] * 4)).view(np.uint32).tolist() == [0x78787878]


def test_unpack_is_the_inverse():
    rng = np.random.default_rng(3)
    codes = rng.integers(-8, 8, (5, 3, 64))
    packed = pack_int4(codes)
    assert packed.shape == (5, 3, 8)
    np.testing.assert_array_equal(unpack_int4(packed), codes)
    words = rng.integers(-(2**31), 2**31, (4, 8)).astype(np.int32)
    np.testing.assert_array_equal(pack_int4(unpack_int4(words)), words)


def test_each_code_is_one_hexadecimal_digit():
    codes = np.random.default_rng(4).integers(-8, 8, 8)
    digits = "".join(f"{int(code) & 0xF:x}" for code in reversed(codes))
    assert int(pack_int4(codes).view(np.uint32)[0]) == int(digits, 16)


@pytest.mark.parametrize("codes", [np.full(8, 8), np.full(8, -9), np.zeros(7)])
def test_what_does_not_fit_is_refused(codes):
    with pytest.raises(ValueError, match="pack_int4"):
        pack_int4(codes)
