// SPDX-License-Identifier: Apache-2.0
// int8_dot_avx2.h - int8 products by vpmaddwd on values widened to 16 bits (vpmaddubsw would saturate): a
// word's bytes 0 and 2 make one pair, 1 and 3 the other, in both operands. Included by int8_dot.h.
#pragma once
#include <immintrin.h>

#include "cpu/int8_dot.h"

namespace sals::cpu::SALS_TARGET {

inline constexpr int32_t COLUMN_LANES = 8;
inline constexpr int32_t MOST_ROWS = 4;

SALS_INLINE __m128i load_channels(const int8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

SALS_INLINE void store_words(int32_t* to, __m256i x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
}

// A 4 x 4 transposition of words in each lane; lane i of the input j is token 4i + j.
SALS_INLINE void pack_keys(const int8_t* const* rows, RowBytes bytes, int32_t* packed, int64_t stride) {
    for (int32_t channel = 0; channel < bytes.head_dim; channel += CHANNEL_STEP) {
        const int64_t x = channel_offset(bytes, channel);
        for (int32_t first = 0; first < TOKEN_STEP; first += COLUMN_LANES) {
            __m256i token[4];
            for (int32_t j = 0; j < 4; ++j) {
                token[j] = _mm256_inserti128_si256(_mm256_castsi128_si256(load_channels(rows[first + j] + x)),
                                                   load_channels(rows[first + j + 4] + x), 1);
            }
            const __m256i low01 = _mm256_unpacklo_epi32(token[0], token[1]);
            const __m256i high01 = _mm256_unpackhi_epi32(token[0], token[1]);
            const __m256i low23 = _mm256_unpacklo_epi32(token[2], token[3]);
            const __m256i high23 = _mm256_unpackhi_epi32(token[2], token[3]);
            int32_t* to = packed + channel / DEPTH_STEP * stride + first;
            store_words(to, _mm256_unpacklo_epi64(low01, low23));
            store_words(to + stride, _mm256_unpackhi_epi64(low01, low23));
            store_words(to + 2 * stride, _mm256_unpacklo_epi64(high01, high23));
            store_words(to + 3 * stride, _mm256_unpackhi_epi64(high01, high23));
        }
    }
}

SALS_INLINE void store_channels(int32_t* to, __m128i x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), x);
}

SALS_INLINE void pack_values(const int8_t* const* rows, RowBytes bytes, int32_t* packed, int64_t stride) {
    for (int32_t channel = 0; channel < bytes.head_dim; channel += CHANNEL_STEP) {
        const int64_t x = channel_offset(bytes, channel);
        for (int32_t i = 0; i < TOKEN_STEP / DEPTH_STEP; ++i) {
            const int8_t* const* row = rows + i * DEPTH_STEP;
            __m128i token[4];
            for (int32_t j = 0; j < 4; ++j) token[j] = load_channels(row[j] + x);
            const __m128i low01 = _mm_unpacklo_epi8(token[0], token[1]);
            const __m128i high01 = _mm_unpackhi_epi8(token[0], token[1]);
            const __m128i low23 = _mm_unpacklo_epi8(token[2], token[3]);
            const __m128i high23 = _mm_unpackhi_epi8(token[2], token[3]);
            int32_t* to = packed + i * stride + channel;
            store_channels(to, _mm_unpacklo_epi16(low01, low23));
            store_channels(to + 4, _mm_unpackhi_epi16(low01, low23));
            store_channels(to + 8, _mm_unpacklo_epi16(high01, high23));
            store_channels(to + 12, _mm_unpackhi_epi16(high01, high23));
        }
    }
}

SALS_INLINE __m256i even_bytes(__m256i x) { return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8); }
SALS_INLINE __m256i odd_bytes(__m256i x) { return _mm256_srai_epi16(x, 8); }

template <int32_t R, int32_t C>
SALS_INLINE void multiply_block(LeftRows a, PackedWords b, int32_t* out, int64_t out_stride,
                                LineQueue& lines) {
    LineQueue queue = lines;
    __m256i sum[R][C];
    for (int32_t r = 0; r < R; ++r) {
        for (int32_t c = 0; c < C; ++c) sum[r][c] = _mm256_setzero_si256();
    }
    for (int32_t d = 0; d < b.depth_steps; ++d) {
        prefetch_line(queue);
        prefetch_line(queue);
        __m256i even[C], odd[C];
        for (int32_t c = 0; c < C; ++c) {
            const auto* from = b.words + d * b.stride + c * COLUMN_LANES;
            const __m256i column = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
            even[c] = even_bytes(column);
            odd[c] = odd_bytes(column);
        }
        for (int32_t r = 0; r < R; ++r) {
            const __m256i code = _mm256_set1_epi32(load_word(a.codes + r * a.stride + d * DEPTH_STEP));
            const __m256i code_even = even_bytes(code);
            const __m256i code_odd = odd_bytes(code);
            for (int32_t c = 0; c < C; ++c) {
                const __m256i pairs = _mm256_add_epi32(_mm256_madd_epi16(even[c], code_even),
                                                       _mm256_madd_epi16(odd[c], code_odd));
                sum[r][c] = _mm256_add_epi32(sum[r][c], pairs);
            }
        }
    }
    lines = queue;
    for (int32_t r = 0; r < R; ++r) {
        for (int32_t c = 0; c < C; ++c) store_words(out + r * out_stride + c * COLUMN_LANES, sum[r][c]);
    }
}

SALS_INLINE void store_int8(int8_t* to, I32x16 x) {
    const __m256i words =
        _mm256_packs_epi32(reinterpret_cast<__m256i>(x.part[0]), reinterpret_cast<__m256i>(x.part[1]));
    const __m256i in_order = _mm256_permute4x64_epi64(words, 0xD8);  // packs works lane by lane
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(_mm256_castsi256_si128(in_order),
                                                                     _mm256_extracti128_si256(in_order, 1)));
}

}  // namespace sals::cpu::SALS_TARGET
