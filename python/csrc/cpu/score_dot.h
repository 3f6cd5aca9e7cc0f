// SPDX-License-Identifier: Apache-2.0
// score_dot.h - exact int4 dot products of one query with the rows of sixteen tokens.
//     dot = sum q (u - 8) = sum q u - 8 sum q,   u = k + 8 in 0 .. 15: a nibble with its top bit flipped
// u is unsigned and q signed, which is what the byte multiply-add instructions take. High nibbles are used
// where they stand, as 16 u, and low nibbles are multiplied by 16 q instead, so that all products come 16
// times too large and one shift serves them all. No sum can saturate. Rows are never read past their end.
#pragma once
#include "cpu/qsi_kernels.h"
#include "cpu/vec.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sals::cpu::SALS_TARGET {

inline constexpr int32_t PLANE = 32;  // bytes of a row that stand together

// Sixteen rows, of which the first `last` + 1 exist; the last one stands in for the others.
struct Rows {
    const uint8_t* first;
    int64_t token_step;
    int64_t plane_step;
    int32_t last;

    SALS_INLINE const uint8_t* row(int32_t i) const { return first + (i < last ? i : last) * token_step; }
};

#if defined(__AVX512VNNI__)

// The products of rows a (lower half) and b (upper half), eight partial sums each.
template <int32_t FULL_PLANES>
SALS_INLINE __m512i dot_two_rows(const Int4Query& query, const Rows& rows, int32_t a, int32_t b) {
    const __m512i low_nibbles = _mm512_set1_epi8(0x0F);
    const __m512i high_nibbles = _mm512_set1_epi8((char)0xF0);
    const __m512i top_bits = _mm512_set1_epi8((char)0x88);
    constexpr int32_t XOR_THEN_AND = 0x28;
    const uint8_t* row_a = rows.row(a);
    const uint8_t* row_b = rows.row(b);
    const int32_t full_bytes = FULL_PLANES > 0 ? FULL_PLANES * PLANE : query.row_bytes / PLANE * PLANE;
    __m512i sum = _mm512_setzero_si512();
    const auto add_plane = [&](__m256i part_a, __m256i part_b, int32_t byte) __attribute__((always_inline)) {
        const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(part_a), part_b, 1);
        const __m512i low = _mm512_ternarylogic_epi32(both, top_bits, low_nibbles, XOR_THEN_AND);
        const __m512i high = _mm512_ternarylogic_epi32(both, top_bits, high_nibbles, XOR_THEN_AND);
        const __m512i even = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)(query.even + byte)));
        const __m512i odd = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)(query.odd + byte)));
        sum = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, low, even), high, odd);
    };
    for (int32_t byte = 0; byte < full_bytes; byte += PLANE) {
        add_plane(_mm256_loadu_si256((const __m256i*)row_a), _mm256_loadu_si256((const __m256i*)row_b), byte);
        row_a += rows.plane_step;
        row_b += rows.plane_step;
    }
    if (FULL_PLANES == 0 && full_bytes < query.row_bytes) {
        const __mmask8 words = (__mmask8)((1U << ((query.row_bytes - full_bytes) / 4)) - 1U);
        add_plane(_mm256_maskz_loadu_epi32(words, row_a), _mm256_maskz_loadu_epi32(words, row_b), full_bytes);
    }
    return sum;
}

SALS_INLINE __m512i add_pairs_32(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

SALS_INLINE __m512i add_pairs_64(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

// Four quarters: partial sums of rows first .. first+3, twice, then of rows first+4 .. first+7, twice.
template <int32_t FULL_PLANES>
SALS_INLINE __m512i dot_eight_rows(const Int4Query& query, const Rows& rows, int32_t first) {
    __m512i sums[4];
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) {
        sums[i] = dot_two_rows<FULL_PLANES>(query, rows, first + i, first + i + 4);
    }
    return add_pairs_64(add_pairs_32(sums[0], sums[1]), add_pairs_32(sums[2], sums[3]));
}

template <int32_t FULL_PLANES>
SALS_INLINE I32x16 products(const Int4Query& query, const Rows& rows) {
    const __m512i a = dot_eight_rows<FULL_PLANES>(query, rows, 0);
    const __m512i b = dot_eight_rows<FULL_PLANES>(query, rows, 8);
    constexpr int32_t QUARTERS_0_2 = 0x88;
    constexpr int32_t QUARTERS_1_3 = 0xDD;
    const __m512i total =
        _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, QUARTERS_0_2), _mm512_shuffle_i32x4(a, b, QUARTERS_1_3));
    return {{(RegisterI32)total}};
}

#elif defined(__AVX2__)

SALS_INLINE __m256i first_words(int32_t words) {
    static constexpr int32_t MASK[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i*)(MASK + 8 - words));
}

// Eight partial sums. Each 16-bit sum is at most 4 planes * 4 products * 15 * 8 * 16 = 30720.
template <int32_t FULL_PLANES>
SALS_INLINE __m256i dot_row(const Int4Query& query, const uint8_t* row, int64_t plane_step) {
    const __m256i low_nibbles = _mm256_set1_epi8(0x0F);
    const __m256i high_nibbles = _mm256_set1_epi8((char)0xF0);
    const __m256i top_bits = _mm256_set1_epi8((char)0x88);
    const int32_t full_bytes = FULL_PLANES > 0 ? FULL_PLANES * PLANE : query.row_bytes / PLANE * PLANE;
    __m256i sum = _mm256_setzero_si256();
    const auto add_plane = [&](__m256i part, int32_t byte) __attribute__((always_inline)) {
        const __m256i unsigned_keys = _mm256_xor_si256(part, top_bits);
        const __m256i low = _mm256_and_si256(unsigned_keys, low_nibbles);
        const __m256i high = _mm256_and_si256(unsigned_keys, high_nibbles);
        const __m256i even = _mm256_loadu_si256((const __m256i*)(query.even + byte));
        const __m256i odd = _mm256_loadu_si256((const __m256i*)(query.odd + byte));
        sum = _mm256_add_epi16(
            sum, _mm256_add_epi16(_mm256_maddubs_epi16(low, even), _mm256_maddubs_epi16(high, odd)));
    };
    for (int32_t byte = 0; byte < full_bytes; byte += PLANE) {
        add_plane(_mm256_loadu_si256((const __m256i*)row), byte);
        row += plane_step;
    }
    if (FULL_PLANES == 0 && full_bytes < query.row_bytes) {
        const __m256i words = first_words((query.row_bytes - full_bytes) / 4);
        add_plane(_mm256_maskload_epi32((const int*)row, words), full_bytes);
    }
    return _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
}

template <int32_t FULL_PLANES>
SALS_INLINE __m256i dot_eight_rows(const Int4Query& query, const Rows& rows, int32_t first) {
    __m256i sums[8];
#pragma GCC unroll 8
    for (int32_t i = 0; i < 8; ++i) {
        sums[i] = dot_row<FULL_PLANES>(query, rows.row(first + i), rows.plane_step);
    }
    const __m256i a =
        _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
    const __m256i b =
        _mm256_hadd_epi32(_mm256_hadd_epi32(sums[4], sums[5]), _mm256_hadd_epi32(sums[6], sums[7]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

template <int32_t FULL_PLANES>
SALS_INLINE I32x16 products(const Int4Query& query, const Rows& rows) {
    return {{(RegisterI32)dot_eight_rows<FULL_PLANES>(query, rows, 0),
             (RegisterI32)dot_eight_rows<FULL_PLANES>(query, rows, 8)}};
}

#else

// int16 products of int16 factors summed in int32: a form that compilers turn into multiply-add instructions.
SALS_INLINE int32_t dot_plane(const int8_t* even, const int8_t* odd, const uint8_t* row, int32_t bytes) {
    int32_t sum = 0;
    for (int32_t x = 0; x < bytes; ++x) {
        const int16_t low = static_cast<int16_t>((row[x] ^ 0x88) & 0x0F);
        const int16_t high = static_cast<int16_t>((row[x] ^ 0x88) & 0xF0);
        sum += low * static_cast<int16_t>(even[x]) + high * static_cast<int16_t>(odd[x]);
    }
    return sum;
}

template <int32_t FULL_PLANES>
SALS_INLINE I32x16 products(const Int4Query& query, const Rows& rows) {
    const int32_t row_bytes = FULL_PLANES > 0 ? FULL_PLANES * PLANE : query.row_bytes;
    int32_t sums[LANES];
    for (int32_t i = 0; i < LANES; ++i) {
        const uint8_t* row = rows.row(i);
        sums[i] = 0;
        for (int32_t byte = 0; byte < row_bytes; byte += PLANE) {
            const int32_t rest = row_bytes - byte;
            const int32_t bytes = FULL_PLANES > 0 || rest > PLANE ? PLANE : rest;
            sums[i] += dot_plane(query.even + byte, query.odd + byte, row, bytes);
            row += rows.plane_step;
        }
    }
    return load(sums);
}

#endif

// FULL_PLANES > 0: the row is so many whole planes. 0: any row.
template <int32_t FULL_PLANES>
SALS_INLINE I32x16 int4_dots(const Int4Query& query, Rows rows) {
    const I32x16 eight_sums = broadcast(8 * query.sum);
    if (rows.last < LANES - 1) return shift_right(products<FULL_PLANES>(query, rows), 4) - eight_sums;
    rows.last = LANES - 1;  // known to the compiler here: row addresses need no comparison
    return shift_right(products<FULL_PLANES>(query, rows), 4) - eight_sums;
}

}  // namespace sals::cpu::SALS_TARGET
