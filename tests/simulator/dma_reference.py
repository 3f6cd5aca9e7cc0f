# SPDX-License-Identifier: Apache-2.0
"""Moves between memories as the documentation describes them, byte by byte."""

from __future__ import annotations

BLOCK = 32  # bytes of a datablock


def copy_blocks(dst, src, count, length, src_gap, dst_gap, dst_begin=0, src_begin=0):
    """DataCopy with DataCopyParams: lengths and gaps in datablocks, a gap from end to start."""
    for i in range(count):
        for byte in range(length * BLOCK):
            to = dst_begin + i * (length + dst_gap) * BLOCK + byte
            dst[to] = src[src_begin + i * (length + src_gap) * BLOCK + byte]


def pad_load(dst, src, count, length, src_stride, dst_stride, left, right, fill, src_begin=0):
    """DataCopyPad into UB: [left][data][right][dummies] per block.

    Paddings are in bytes, `fill` holds the bytes of an element. Without padding the dummies repeat the first
    element of the block.
    """
    width = len(fill)
    to, start = 0, src_begin
    for _ in range(count):
        data = src[start : start + length]
        size = -(-(left + length + right) // BLOCK) * BLOCK
        element = bytes(data[:width]) if left == right == 0 else fill
        for byte in range(size):
            inside = left <= byte < left + length
            # Padding is made of whole elements on both sides of the data.
            phase = byte if byte < left else byte - left - length
            dst[to + byte] = data[byte - left] if inside else element[phase % width]
        to += size + dst_stride * BLOCK
        start += length + src_stride


def pad_store(dst, src, count, length, src_stride, dst_stride, dst_begin=0):
    """DataCopyPad out of UB: blocks start at datablocks, GM gets their bytes."""
    size = -(-length // BLOCK) * BLOCK
    for i in range(count):
        for byte in range(length):
            dst[dst_begin + i * (length + dst_stride) + byte] = src[i * (size + src_stride * BLOCK) + byte]


def nd2nz(dst, src, params, width, src_begin=0):
    """DataCopy with Nd2NzParams; `width` is the bytes of an element."""
    nd_num, n, d, src_matrix, src_d, dst_c0, dst_n, dst_matrix = params
    row_bytes = d * width
    padded = -(-row_bytes // BLOCK) * BLOCK
    for matrix in range(nd_num):
        for row in range(n):
            for byte in range(padded):
                block = byte // BLOCK * dst_c0 + row * dst_n
                to = matrix * dst_matrix * width + block * BLOCK + byte % BLOCK
                source = src_begin + (matrix * src_matrix + row * src_d) * width + byte
                dst[to] = src[source] if byte < row_bytes else 0
