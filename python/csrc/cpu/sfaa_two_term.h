// SPDX-License-Identifier: Apache-2.0
// sfaa_two_term.h - float rows as two int8 rows: y in [-127, 127] becomes first + second / 254, both rounded
// half to even. Compiled per instruction set.
#pragma once
#include "cpu/int8_dot.h"
#include "cpu/sfaa_kernels.h"

namespace sals::cpu::SALS_TARGET {

inline constexpr float FIRST_TERM = 127.0F;
inline constexpr float SECOND_TERM = 254.0F;

struct TwoTerms {
    F32x16 first, second;      // whole numbers
    I32x16 first_i, second_i;  // the same
};

// |y| < 2^22. At 1.5 * 2^23 the grid of fp32 is the integers, and the low bits are the integer itself.
SALS_INLINE TwoTerms split(F32x16 y) {
    const F32x16 grid = broadcast(12582912.0F);
    const I32x16 zero = bits_of(grid);
    const F32x16 first = y + grid;
    TwoTerms terms;
    terms.first = first - grid;
    terms.first_i = bits_of(first) - zero;
    const F32x16 second = (y - terms.first) * broadcast(SECOND_TERM) + grid;
    terms.second = second - grid;
    terms.second_i = bits_of(second) - zero;
    return terms;
}

SALS_INLINE F32x16 joined(F32x16 first, F32x16 second) {
    return first + second * broadcast(1.0F / SECOND_TERM);
}

// 127 / amax, or 0 where that is not a number to scale by.
SALS_INLINE float unit_factor(float amax) {
    const float factor = FIRST_TERM / amax;
    return factor <= __FLT_MAX__ ? factor : 0.0F;
}

// Two-term codes of count floats (a multiple of 16) scaled by `factor`, and their sums.
SALS_INLINE void store_split(const float* x, int32_t count, float factor, int8_t* first, int8_t* second,
                             int32_t* sums) {
    I32x16 first_sum = broadcast(0), second_sum = broadcast(0);
    for (int32_t i = 0; i < count; i += LANES) {
        const TwoTerms terms = split(load(x + i) * broadcast(factor));
        store_int8(first + i, terms.first_i);
        store_int8(second + i, terms.second_i);
        first_sum = first_sum + terms.first_i;
        second_sum = second_sum + terms.second_i;
    }
    sums[0] = sum(first_sum);
    sums[1] = sum(second_sum);
}

inline void quantize_query(const float* query, const float* channel_scale, float scale, QueryRows& rows) {
    const int32_t head_dim = rows.head_dim;
    for (int32_t r = 0; r < rows.count; ++r) {
        alignas(64) float scaled[MAX_HEAD_DIM];
        F32x16 largest = broadcast(0.0F), poison = broadcast(0.0F);
        for (int32_t i = 0; i < head_dim; i += LANES) {
            F32x16 x = load(query + r * head_dim + i);
            if (channel_scale != nullptr) x = x * load(channel_scale + i);
            store(scaled + i, x);
            largest = max(largest, abs(x));
            poison = poison + (x - x);
        }
        rows.poison[r] = sum(poison);
        const bool finite = rows.poison[r] == 0.0F;
        const float amax = finite ? max_lane(largest) : 0.0F;
        for (int32_t i = 0; i < head_dim && !finite; i += LANES) store(scaled + i, broadcast(0.0F));
        int8_t* codes = rows.codes + r * TERMS * head_dim;
        store_split(scaled, head_dim, unit_factor(amax), codes, codes + head_dim, rows.code_sum + r * TERMS);
        const float factor = amax / FIRST_TERM * scale;
        rows.poison[r] += factor - factor;
        rows.factor[r] = factor - factor == 0.0F ? factor : 0.0F;
    }
}

}  // namespace sals::cpu::SALS_TARGET
