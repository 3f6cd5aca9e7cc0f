# SPDX-License-Identifier: Apache-2.0
"""Fractal layouts, loads and results on their way out, element by element as the documentation has them."""

from __future__ import annotations

from itertools import product

import numpy as np

SIDE = 16
FRACTAL_BYTES = 512


def columns_of(name):
    """C0: elements in the 32 bytes of a fractal's row."""
    return {"int4": 64, "int8": 32, "half": 16, "bfloat16": 16, "float": 8}[name]


def storage(values, name):
    """Bytes of elements that follow each other."""
    values = np.asarray(values)
    if name == "int4":
        nibbles = values.reshape(-1).astype(np.int64) & 0xF
        return (nibbles[0::2] | nibbles[1::2] << 4).astype(np.uint8)
    if name == "bfloat16":
        # The upper half of a float; callers use values that it holds exactly.
        return (values.reshape(-1).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    dtype = {"int8": np.int8, "half": np.float16, "float": np.float32}[name]
    return np.ascontiguousarray(values.reshape(-1).astype(dtype)).view(np.uint8)


def values_of(raw, name):
    """Elements held by bytes."""
    if name == "int4":
        nibbles = np.stack([raw & 0xF, raw >> 4], axis=-1).reshape(-1).astype(np.int32)
        return np.where(nibbles > 7, nibbles - 16, nibbles)
    dtype = {"int8": np.int8, "half": np.float16, "float": np.float32}[name]
    return raw.view(dtype)


def left_fractals(a, name, garbage, pairs=False):
    """A [m, k] as L0A holds it: fractals row by row, 16 rows of C0 elements; `garbage` fills the rest."""
    m, k = a.shape
    c0 = columns_of(name)
    m1, k1 = -(-m // SIDE), -(-k // c0)
    if pairs:
        k1 = -(-k1 // 2) * 2
    out = garbage((m1, k1, SIDE, c0))
    for i, p in product(range(m), range(k)):
        out[i // SIDE, p // c0, i % SIDE, p % c0] = a[i, p]
    return out


def right_fractals(b, name, garbage):
    """B [k, n] as L0B holds it: fractals by k, then n, 16 columns of C0 elements."""
    k, n = b.shape
    c0 = columns_of(name)
    out = garbage((-(-k // c0), -(-n // SIDE), SIDE, c0))
    for p, j in product(range(k), range(n)):
        out[p // c0, j // SIDE, j % SIDE, p % c0] = b[p, j]
    return out


def vector_fractals(a, name, garbage):
    """A [1, k] as GEMV reads it: consecutive elements."""
    k = a.shape[1]
    per_fractal = columns_of(name) * SIDE
    out = garbage((-(-k // per_fractal), per_fractal))
    out.reshape(-1)[:k] = a[0]
    return out


def load_2d(dst, src, start, repeat, src_stride, dst_gap, transpose):
    """LoadData on fractals [fractal, ...] of 16-bit elements, or of bytes without transposition."""
    for i in range(repeat):
        fractal = src[start + i * src_stride].copy()
        if transpose:
            for row, column in product(range(SIDE), range(SIDE)):
                fractal[row * SIDE + column] = src[start + i * src_stride][column * SIDE + row]
        dst[i * (dst_gap + 1)] = fractal


def load_transposed(dst, src, name, start, repeat, src_stride, dst_gap, frac_gap):
    """LoadDataWithTranspose on fractals [fractal, elements]."""
    c0 = columns_of(name)
    side = max(c0, SIDE)
    fractals = {"int4": 4, "int8": 2, "half": 1, "float": 2}[name]

    def place(row, column):
        """Fractal of the square and element in it."""
        if name == "float":
            return column // c0, row * c0 + column % c0
        return row // SIDE, row % SIDE * c0 + column

    for i in range(repeat):
        first = (start + i * src_stride) * fractals
        for row, column in product(range(side), range(side)):
            to, at = place(row, column)
            source, element = place(column, row)
            dst[i * (dst_gap + 1) + to * (frac_gap + 1)][at] = src[first + source][element]


def factor_of(param):
    """The float that the hardware takes from a quantisation parameter: 10 bits of mantissa."""
    return np.array(int(param) & 0xFFFFE000, np.uint32).view(np.float32)[()]


def converted(values, mode, param, dtype, relu):
    """Values of L0C as they leave it."""
    if mode in ("NoQuant", "F322F16"):
        return (np.maximum(values, 0) if relu else values).astype(dtype)
    if mode == "F322BF16":
        bits = (
            np.asarray(np.maximum(values, 0) if relu else values, np.float32)
            .view(np.uint32)
            .astype(np.uint64)
        )
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    scaled = values.astype(np.float32) * factor_of(param)
    if relu:
        scaled = np.where(values < 0, np.float32(0), scaled)
    if mode in ("DEQF16", "VDEQF16"):
        return scaled.astype(np.float16)
    offset = int(param) >> 37 & 0x1FF
    offset = offset - 512 if offset >= 256 else offset
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.clip(np.rint(np.clip(scaled, -256, 255)).astype(np.int32) + offset, low, high).astype(dtype)


def result_out(dst, c, size, strides, layout, convert, matrices=(1, 0, 0), first_row=0):
    """Move C [m, n], which lies in L0C as NZ fractals of 16 x 16, to elements of `dst`.

    Parameters
    ----------
    size : (n, m) of what is moved
    strides : (source in 16 elements, destination in elements)
    matrices : (number, source stride in fractals, destination stride in elements)
    convert : values of a row from column `column` on -> elements of dst
    """
    n, m = size
    src_stride, dst_stride = strides
    number, src_matrix, dst_matrix = matrices
    memory = in_l0c(c)
    for matrix, row, column in product(range(number), range(m), range(n)):
        at = matrix * src_matrix * SIDE + column // SIDE * src_stride + row + first_row
        value = convert(memory[at, column % SIDE : column % SIDE + 1], column)[0]
        if layout == "rows":
            to = matrix * dst_matrix + row * dst_stride + column
        else:
            width = {"fractals": SIDE, "split": 8, "merged": 32}[layout]
            pitch = min(width, n - column // width * width)
            to = column // width * dst_stride + row * pitch + column % width
        dst[to] = value


def in_l0c(c):
    """Rows of 16 elements, as C [m, n] lies in L0C; zeros where it holds nothing valid."""
    m, n = c.shape
    m_padded = -(-m // SIDE) * SIDE
    memory = np.zeros((-(-n // SIDE) * m_padded, SIDE), c.dtype)
    for i, j in product(range(m), range(n)):
        memory[j // SIDE * m_padded + i, j % SIDE] = c[i, j]
    return memory
