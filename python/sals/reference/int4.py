# SPDX-License-Identifier: Apache-2.0
"""Signed 4-bit codes packed eight to an int32: two's complement, low nibble first."""

from __future__ import annotations

import numpy as np

from sals._contract import INT4_MAX, INT4_MIN, INT4_PER_WORD

INT4_BITS = 4
_SHIFTS = np.arange(INT4_PER_WORD, dtype=np.uint32) * INT4_BITS


def pack_int4(codes: np.ndarray) -> np.ndarray:
    """Pack codes in [-8, 7] along the last axis, whose length is a multiple of 8.

    Code i of a word occupies bits ``4 i .. 4 i + 3``: ``[1, 2, 0, 0, 0, 0, 0, -1]`` is ``0xF0000021``.

    Returns
    -------
    int32 array, shape (..., length / 8)
    """
    codes = np.asarray(codes)
    if codes.shape[-1] % INT4_PER_WORD:
        raise ValueError(f"pack_int4: the last axis must be a multiple of {INT4_PER_WORD}, got {codes.shape}")
    if codes.size and (codes.min() < INT4_MIN or codes.max() > INT4_MAX):
        raise ValueError(f"pack_int4: codes must lie in [{INT4_MIN}, {INT4_MAX}]")
    nibbles = codes.astype(np.int64).astype(np.uint32) & np.uint32(0xF)
    words = nibbles.reshape(*codes.shape[:-1], codes.shape[-1] // INT4_PER_WORD, INT4_PER_WORD) << _SHIFTS
    return np.bitwise_or.reduce(words, axis=-1).view(np.int32)


def unpack_int4(words: np.ndarray) -> np.ndarray:
    """Unpack int32 words to int8 codes; the inverse of `pack_int4`."""
    words = np.ascontiguousarray(words, dtype=np.int32).view(np.uint32)
    nibbles = (words[..., None] >> _SHIFTS) & np.uint32(0xF)
    codes = nibbles.astype(np.int8)
    codes[codes > INT4_MAX] -= 1 << INT4_BITS
    return codes.reshape(*words.shape[:-1], words.shape[-1] * INT4_PER_WORD)
