// SPDX-License-Identifier: Apache-2.0
// int8_dot_avx512.h - int8 products by VNNI. vpdpbusd wants one unsigned operand: packed words hold x + 128,
// and accumulators begin at -128 * (sum of the row's codes). Included by int8_dot.h.
#pragma once
#include <immintrin.h>

#include "cpu/int8_dot.h"

namespace sals::cpu::SALS_TARGET {

inline constexpr int32_t COLUMN_LANES = 16;
inline constexpr int32_t MOST_ROWS = 8;

SALS_INLINE __m128i load_channels(const int8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// 16 channels of four tokens in the four 128-bit lanes, biased by 128.
SALS_INLINE __m512i load_tokens(const int8_t* t0, const int8_t* t1, const int8_t* t2, const int8_t* t3) {
    __m512i x = _mm512_castsi128_si512(load_channels(t0));
    x = _mm512_inserti32x4(x, load_channels(t1), 1);
    x = _mm512_inserti32x4(x, load_channels(t2), 2);
    x = _mm512_inserti32x4(x, load_channels(t3), 3);
    return _mm512_xor_si512(x, _mm512_set1_epi8(static_cast<char>(0x80)));
}

// 32 channels of two tokens in the halves of a register, biased by 128.
SALS_INLINE __m512i load_two_tokens(const int8_t* t0, const int8_t* t1) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(t0));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(t1));
    const __m512i x = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    return _mm512_xor_si512(x, _mm512_set1_epi8(static_cast<char>(0x80)));
}

// A 4 x 4 transposition of words in each lane.
SALS_INLINE void transpose_lanes(__m512i (&x)[4]) {
    const __m512i low01 = _mm512_unpacklo_epi32(x[0], x[1]);
    const __m512i high01 = _mm512_unpackhi_epi32(x[0], x[1]);
    const __m512i low23 = _mm512_unpacklo_epi32(x[2], x[3]);
    const __m512i high23 = _mm512_unpackhi_epi32(x[2], x[3]);
    x[0] = _mm512_unpacklo_epi64(low01, low23);
    x[1] = _mm512_unpackhi_epi64(low01, low23);
    x[2] = _mm512_unpacklo_epi64(high01, high23);
    x[3] = _mm512_unpackhi_epi64(high01, high23);
}

// Keys of 16 tokens, 16 channels from byte x on: lane i of the input j is token 4i + j.
SALS_INLINE void pack_16_key_channels(const int8_t* const* rows, int64_t x, int32_t* to, int64_t stride) {
    __m512i token[4];
    for (int32_t j = 0; j < 4; ++j) {
        token[j] = load_tokens(rows[j] + x, rows[j + 4] + x, rows[j + 8] + x, rows[j + 12] + x);
    }
    transpose_lanes(token);
    for (int32_t j = 0; j < 4; ++j) _mm512_storeu_si512(to + j * stride, token[j]);
}

// The same for 32 channels in fewer shuffles. Lanes hold the channels of tokens j and j + 4 in `first`, of
// j + 8 and j + 12 in `second`; after the transposition, even lanes make channel quartet j, odd lanes
// quartet j + 4.
SALS_INLINE void pack_32_key_channels(const int8_t* const* rows, int64_t x, int32_t* to, int64_t stride) {
    __m512i first[4], second[4];
    for (int32_t j = 0; j < 4; ++j) {
        first[j] = load_two_tokens(rows[j] + x, rows[j + 4] + x);
        second[j] = load_two_tokens(rows[j + 8] + x, rows[j + 12] + x);
    }
    transpose_lanes(first);
    transpose_lanes(second);
    for (int32_t j = 0; j < 4; ++j) {
        _mm512_storeu_si512(to + j * stride, _mm512_shuffle_i32x4(first[j], second[j], 0x88));
        _mm512_storeu_si512(to + (j + 4) * stride, _mm512_shuffle_i32x4(first[j], second[j], 0xDD));
    }
}

SALS_INLINE void pack_keys(const int8_t* const* rows, RowBytes bytes, int32_t* packed, int64_t stride) {
    int32_t channel = 0;
    for (; channel + 2 * CHANNEL_STEP <= bytes.head_dim; channel += 2 * CHANNEL_STEP) {
        pack_32_key_channels(rows, channel_offset(bytes, channel), packed + channel / DEPTH_STEP * stride,
                             stride);
    }
    if (channel < bytes.head_dim) {
        pack_16_key_channels(rows, channel_offset(bytes, channel), packed + channel / DEPTH_STEP * stride,
                             stride);
    }
}

// Words of one channel quartet gather in a lane, whose bytes then transpose 4 x 4.
SALS_INLINE void pack_16_value_channels(const int8_t* const* row, int64_t x, int32_t* packed) {
    const __m512i quartets = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i transpose =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i tokens = load_tokens(row[0] + x, row[1] + x, row[2] + x, row[3] + x);
    const __m512i words = _mm512_permutexvar_epi32(quartets, tokens);
    _mm512_storeu_si512(packed, _mm512_shuffle_epi8(words, transpose));
}

// The same for 32 channels in fewer shuffles. Bytes of tokens 0 and 1 pair up in the lower half of a
// register, those of 2 and 3 in the upper half; then pairs of one channel meet. Channels 0-7 and 16-23 lie in
// `low`, the others in `high`.
SALS_INLINE void pack_32_value_channels(const int8_t* const* row, int64_t x, int32_t* packed) {
    const __m512i quad = _mm512_set_epi16(55, 39, 54, 38, 53, 37, 52, 36, 51, 35, 50, 34, 49, 33, 48, 32, 23,
                                          7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i next_16 = _mm512_set1_epi16(8);
    const __m512i even = load_two_tokens(row[0] + x, row[2] + x);
    const __m512i odd = load_two_tokens(row[1] + x, row[3] + x);
    const __m512i low = _mm512_unpacklo_epi8(even, odd);
    const __m512i high = _mm512_unpackhi_epi8(even, odd);
    _mm512_storeu_si512(packed, _mm512_permutex2var_epi16(low, quad, high));
    _mm512_storeu_si512(packed + 16, _mm512_permutex2var_epi16(low, _mm512_add_epi16(quad, next_16), high));
}

SALS_INLINE void pack_values(const int8_t* const* rows, RowBytes bytes, int32_t* packed, int64_t stride) {
    for (int32_t i = 0; i < TOKEN_STEP / DEPTH_STEP; ++i) {
        const int8_t* const* row = rows + i * DEPTH_STEP;
        int32_t channel = 0;
        for (; channel + 2 * CHANNEL_STEP <= bytes.head_dim; channel += 2 * CHANNEL_STEP) {
            pack_32_value_channels(row, channel_offset(bytes, channel), packed + i * stride + channel);
        }
        if (channel < bytes.head_dim) {
            pack_16_value_channels(row, channel_offset(bytes, channel), packed + i * stride + channel);
        }
    }
}

template <int32_t R, int32_t C>
SALS_INLINE void multiply_block(LeftRows a, PackedWords b, int32_t* out, int64_t out_stride,
                                LineQueue& lines) {
    LineQueue queue = lines;
    __m512i sum[R][C];
    for (int32_t r = 0; r < R; ++r) {
        for (int32_t c = 0; c < C; ++c) sum[r][c] = _mm512_set1_epi32(-128 * a.sums[r]);
    }
    for (int32_t d = 0; d < b.depth_steps; ++d) {
        prefetch_line(queue);
        prefetch_line(queue);
        __m512i column[C];
        for (int32_t c = 0; c < C; ++c) {
            column[c] = _mm512_loadu_si512(b.words + d * b.stride + c * COLUMN_LANES);
        }
        for (int32_t r = 0; r < R; ++r) {
            const __m512i code = _mm512_set1_epi32(load_word(a.codes + r * a.stride + d * DEPTH_STEP));
            for (int32_t c = 0; c < C; ++c) sum[r][c] = _mm512_dpbusd_epi32(sum[r][c], column[c], code);
        }
    }
    lines = queue;
    for (int32_t r = 0; r < R; ++r) {
        for (int32_t c = 0; c < C; ++c) {
            _mm512_storeu_si512(out + r * out_stride + c * COLUMN_LANES, sum[r][c]);
        }
    }
}

SALS_INLINE void store_int8(int8_t* to, I32x16 x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(x.part[0])));
}

}  // namespace sals::cpu::SALS_TARGET
