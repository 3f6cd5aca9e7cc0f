# SPDX-License-Identifier: Apache-2.0
"""Conversions as the documentation words them: exact values, in rational numbers, rounded by one rule."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
FORMATS = {"float16": (10, -14, 65504), "bfloat16": (7, -126, 255 * 2**120), "float32": (23, -126, None)}
INTEGERS = {
    "int64": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int4": (-8, 7),
}


def to_integer(x: Fraction, mode: int) -> int:
    below = math.floor(x)
    rest = x - below
    if mode == FLOOR or rest == 0:
        return below
    if mode == CEIL:
        return below + 1
    if mode == TRUNC:
        return below if x > 0 else below + 1
    if mode == ODD:
        return below if below % 2 else below + 1
    if rest != Fraction(1, 2):
        return below if rest < Fraction(1, 2) else below + 1
    if mode == ROUND:  # away from zero
        return below + 1 if x > 0 else below
    return below if below % 2 == 0 else below + 1


def exponent(x: Fraction) -> int:
    """e with 2**e <= abs(x) < 2**(e + 1)."""
    e = abs(x).numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= abs(x) else e - 1


def cast(value: float | int, target: str, mode: int) -> float | int:
    """One number; integers saturate, NaN becomes 0, floats beyond the largest become infinite."""
    if isinstance(value, float) and not math.isfinite(value):
        if target in FORMATS:
            return value
        low, high = INTEGERS[target]
        return 0 if math.isnan(value) else high if value > 0 else low
    x = Fraction(value)
    if target in INTEGERS:
        low, high = INTEGERS[target]
        return min(max(to_integer(x, mode), low), high)
    if x == 0:
        return float(value)
    mantissa, least, largest = FORMATS[target]
    unit = Fraction(2) ** (max(exponent(x), least) - mantissa)
    rounded = to_integer(x / unit, mode) * unit
    if largest is not None and abs(rounded) > largest:
        return math.copysign(math.inf, value)
    return math.copysign(float(rounded), value)


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """Bits of numbers that bfloat16 has."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def int4_pack(values: np.ndarray) -> np.ndarray:
    """Two per byte, the even index in the low nibble."""
    nibbles = values.astype(np.int8).view(np.uint8) & 0xF
    return nibbles[0::2] | nibbles[1::2] << 4
