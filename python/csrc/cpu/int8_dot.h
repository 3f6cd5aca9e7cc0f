// SPDX-License-Identifier: Apache-2.0
// int8_dot.h - exact int8 matrix products of one step of tokens. Both products of attention have one form:
//     out[row][column] = sum over depth of a[row][depth] * b[depth][column]
// with b packed as words of four consecutive depths. For q K^T a column is a token and depth the channel, for
// P V a column is a channel and depth the token. Each instruction set implements
//     pack_keys      16 tokens' rows -> packed[channel / 4][token]
//     pack_values    16 tokens' rows -> packed[token / 4][channel]
//     multiply_block R rows x C * COLUMN_LANES columns
//     store_int8     16 lanes that hold int8 values
#pragma once
#include "cpu/sfaa_kernels.h"
#include "cpu/vec.h"

namespace sals::cpu::SALS_TARGET {

inline constexpr int32_t TOKEN_STEP = 16;    // tokens are packed by this many
inline constexpr int32_t CHANNEL_STEP = 16;  // bytes of a row that are contiguous in every layout
inline constexpr int32_t DEPTH_STEP = 4;     // int8 values in a word

// Rows of tokens: byte x of a row stands at row + x/32 * plane_stride + x%32.
struct RowBytes {
    int64_t plane_stride;
    int32_t head_dim;
};

SALS_INLINE int64_t channel_offset(const RowBytes& bytes, int32_t channel) {
    constexpr int32_t PLANE = 32;
    return channel / PLANE * bytes.plane_stride + channel % PLANE;
}

// Left operand: int8 rows in [-127, 127], each with the sum of its elements.
struct LeftRows {
    const int8_t* codes;
    int64_t stride;
    const int32_t* sums;
};

struct PackedWords {
    const int32_t* words;
    int64_t stride;  // words from one depth step to the next
    int32_t depth_steps;
};

// Cache lines of the next step. Products ask for two of them in each depth step: about as fast as memory
// delivers, where asking for all at once would wait.
struct LineQueue {
    Stretch now;
    const Stretch* next;
    const Stretch* end;
};

SALS_INLINE bool prefetch_line(LineQueue& lines) {
    if (lines.now.begin >= lines.now.end) {
        if (lines.next == lines.end) return false;
        lines.now = *lines.next++;
    }
    __builtin_prefetch(lines.now.begin, 0, 2);
    lines.now.begin += CACHE_LINE;
    return true;
}

SALS_INLINE int32_t load_word(const int8_t* from) {
    int32_t word;
    std::memcpy(&word, from, sizeof(word));
    return word;
}

}  // namespace sals::cpu::SALS_TARGET

#if defined(__AVX512VNNI__)
#include "cpu/int8_dot_avx512.h"
#elif defined(__AVX2__)
#include "cpu/int8_dot_avx2.h"
#else
#include "cpu/int8_dot_portable.h"
#endif

namespace sals::cpu::SALS_TARGET {

template <int32_t R>
inline void multiply_rows(LeftRows a, PackedWords b, int32_t columns, int32_t* out, int64_t out_stride,
                          LineQueue& lines) {
    int32_t column = 0;
    for (; column + 2 * COLUMN_LANES <= columns; column += 2 * COLUMN_LANES) {
        multiply_block<R, 2>(a, {b.words + column, b.stride, b.depth_steps}, out + column, out_stride, lines);
    }
    for (; column < columns; column += COLUMN_LANES) {
        multiply_block<R, 1>(a, {b.words + column, b.stride, b.depth_steps}, out + column, out_stride, lines);
    }
}

// `rows` is even (two terms of each float row), `columns` a multiple of 16.
inline void multiply(LeftRows a, int32_t rows, PackedWords b, int32_t columns, int32_t* out,
                     int64_t out_stride, LineQueue& lines) {
    while (rows > 0) {
        int32_t step = 2;
        if (rows >= MOST_ROWS) {
            step = MOST_ROWS;
            multiply_rows<MOST_ROWS>(a, b, columns, out, out_stride, lines);
        } else if (rows >= 4) {
            step = 4;
            multiply_rows<4>(a, b, columns, out, out_stride, lines);
        } else {
            multiply_rows<2>(a, b, columns, out, out_stride, lines);
        }
        rows -= step;
        a = {a.codes + step * a.stride, a.stride, a.sums + step};
        out += step * out_stride;
    }
}

}  // namespace sals::cpu::SALS_TARGET
