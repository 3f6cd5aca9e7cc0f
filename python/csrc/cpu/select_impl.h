// SPDX-License-Identifier: Apache-2.0
// select_impl.h - passes over the keys of a row: make them, count or weigh those above a threshold, take
// them.
#pragma once
#include "cpu/exp_log.h"
#include "cpu/qsi_kernels.h"
#include "sals/selection.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace sals::cpu::SALS_TARGET {

// order_key() with the top bit flipped, of sixteen scores: negative numbers have their lower bits reversed.
SALS_INLINE I32x16 signed_order_keys(F32x16 scores) {
    const I32x16 is_number = equal(scores, scores);
    const F32x16 numbers = select(is_number, scores, broadcast(-__builtin_inff()));
    const I32x16 bits = bits_of(select(equal(numbers, broadcast(0.0F)), broadcast(0.0F), numbers));
    return bits ^ (shift_right(bits, 31) & broadcast(INT32_MAX));
}

SALS_INLINE F32x16 score_of_key(I32x16 keys) {
    return from_bits(keys ^ (shift_right(keys, 31) & broadcast(INT32_MAX)));
}

inline KeyRange order_keys(const float* scores, int64_t n, int32_t* keys) {
    I32x16 lowest = broadcast(INT32_MAX);
    I32x16 highest = broadcast(INT32_MIN);
    for (int64_t i = 0; i < n; i += LANES) {
        float lane[LANES];
        const int64_t count = n - i < LANES ? n - i : LANES;
        for (int64_t j = 0; j < LANES; ++j) lane[j] = scores[i + (j < count ? j : 0)];
        const I32x16 vector = signed_order_keys(load(count == LANES ? scores + i : lane));
        lowest = select(less(vector, lowest), vector, lowest);
        highest = select(less(highest, vector), vector, highest);
        store(keys + i, vector);
        for (int64_t j = count; j < LANES; ++j) keys[i + j] = PAD_KEY;
    }
    int32_t low[LANES];
    int32_t high[LANES];
    store(low, lowest);
    store(high, highest);
    KeyRange range = {low[0], high[0]};
    for (int32_t j = 1; j < LANES; ++j) {
        if (low[j] < range.lowest) range.lowest = low[j];
        if (high[j] > range.highest) range.highest = high[j];
    }
    return range;
}

inline int64_t count_above(const int32_t* keys, int64_t n, int32_t threshold) {
    const I32x16 limit = broadcast(threshold);
    I32x16 count = broadcast(0);
    for (int64_t i = 0; i < n; i += LANES) count = count - less(limit, load(keys + i));
    return sum(count);
}

// Lanes of at most 2^30 each.
SALS_INLINE int64_t wide_sum(I32x16 x) {
    int32_t lane[LANES];
    store(lane, x);
    int64_t total = 0;
    for (int32_t i = 0; i < LANES; ++i) total += lane[i];
    return total;
}

inline int64_t mass_above(const int32_t* keys, const int32_t* masses, int64_t n, int32_t threshold) {
    constexpr int64_t STRETCH = 128 * LANES;  // 128 masses of at most 2^23 fit a lane
    const I32x16 limit = broadcast(threshold);
    int64_t total = 0;
    for (int64_t begin = 0; begin < n; begin += STRETCH) {
        const int64_t end = n < begin + STRETCH ? n : begin + STRETCH;
        I32x16 mass = broadcast(0);
        for (int64_t i = begin; i < end; i += LANES) {
            mass = mass + (less(limit, load(keys + i)) & load(masses + i));
        }
        total += wide_sum(mass);
    }
    return total;
}

inline int64_t masses(const int32_t* keys, int64_t n, int32_t highest, int32_t* out) {
    const F32x16 best = score_of_key(broadcast(highest));
    const F32x16 one = broadcast(static_cast<float>(COVERAGE_MASS_ONE));
    for (int64_t i = 0; i < n; i += LANES) {
        const I32x16 key = load(keys + i);
        const F32x16 score = score_of_key(key);
        const F32x16 below = select(equal(score, best), broadcast(0.0F), score - best);
        const I32x16 mass = to_i32(rint(one * exp(below)));
        store(out + i, select(equal(key, broadcast(PAD_KEY)), broadcast(0), mass));
    }
    return mass_above(keys, out, n, PAD_KEY);
}

#if defined(__AVX512F__)

// The lowest `most` set bits.
SALS_INLINE uint32_t lowest_bits(uint32_t bits, int64_t most) {
    while (__builtin_popcount(bits) > most) bits &= ~(0x80000000U >> __builtin_clz(bits));
    return bits;
}

inline int64_t take(const int32_t* keys, int64_t n, int32_t threshold, int64_t ties, int32_t first_id,
                    int32_t* ids) {
    const __m512i limit = _mm512_set1_epi32(threshold);
    __m512i id = _mm512_add_epi32((__m512i)lane_index().part[0], _mm512_set1_epi32(first_id));
    int64_t taken = 0;
    for (int64_t i = 0; i < n; i += LANES) {
        const __m512i key = _mm512_loadu_si512(keys + i);
        const uint32_t above = _mm512_cmpgt_epi32_mask(key, limit);
        const uint32_t equal = lowest_bits(_mm512_cmpeq_epi32_mask(key, limit), ties);
        ties -= __builtin_popcount(equal);
        // A compress to memory is many times slower than one in registers on some processors.
        _mm512_storeu_si512(ids + taken, _mm512_maskz_compress_epi32((__mmask16)(above | equal), id));
        taken += __builtin_popcount(above | equal);
        id = _mm512_add_epi32(id, _mm512_set1_epi32(LANES));
    }
    return taken;
}

#else

inline int64_t take(const int32_t* keys, int64_t n, int32_t threshold, int64_t ties, int32_t first_id,
                    int32_t* ids) {
    int64_t taken = 0;
    for (int64_t i = 0; i < n; ++i) {
        const bool is_tie = keys[i] == threshold && ties > 0;
        ids[taken] = first_id + static_cast<int32_t>(i);
        taken += keys[i] > threshold || is_tie;
        ties -= is_tie;
    }
    return taken;
}

#endif

}  // namespace sals::cpu::SALS_TARGET
