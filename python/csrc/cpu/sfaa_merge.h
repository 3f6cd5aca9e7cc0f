// SPDX-License-Identifier: Apache-2.0
// sfaa_merge.h - flash decoding: attention over two sets of tokens from attention over each, and the end of
// it. Compiled per instruction set.
#pragma once
#include "cpu/exp_log.h"
#include "cpu/sfaa_kernels.h"

namespace sals::cpu::SALS_TARGET {

inline constexpr float NOTHING = -__builtin_inff();  // maximum of no tokens

// By how much the sums of both sides shrink to the common maximum; rows come in up to 8.
struct Rescale {
    float maximum[LANES / 2];
    float factor[LANES];  // earlier rows, then later rows
};

SALS_INLINE void rescale(const float* earlier, const float* later, int32_t rows, Rescale& result) {
    alignas(64) float difference[LANES] = {};
    for (int32_t r = 0; r < rows; ++r) {
        const float maximum = earlier[r] > later[r] ? earlier[r] : later[r];
        result.maximum[r] = maximum;
        if (maximum == NOTHING) continue;
        difference[r] = earlier[r] - maximum;
        difference[LANES / 2 + r] = later[r] - maximum;
    }
    store(result.factor, exp(load(difference)));
}

inline void merge(int32_t rows, int32_t head_dim, const Partial& later, const Partial& into) {
    for (int32_t begin = 0; begin < rows; begin += LANES / 2) {
        const int32_t count = rows - begin < LANES / 2 ? rows - begin : LANES / 2;
        Rescale scale;
        rescale(into.maximum + begin, later.maximum + begin, count, scale);
        for (int32_t i = 0; i < count; ++i) {
            const int32_t r = begin + i;
            if (later.maximum[r] == NOTHING) continue;
            const float mine = scale.factor[i], theirs = scale.factor[LANES / 2 + i];
            into.maximum[r] = scale.maximum[i];
            into.row_sum[r] = into.row_sum[r] * mine + later.row_sum[r] * theirs;
            into.exp_sum[r] = into.exp_sum[r] * mine + later.exp_sum[r] * theirs;
            float* to = into.accumulator + static_cast<int64_t>(r) * head_dim;
            const float* from = later.accumulator + static_cast<int64_t>(r) * head_dim;
            for (int32_t x = 0; x < head_dim; x += LANES) {
                store(to + x, load(to + x) * broadcast(mine) + load(from + x) * broadcast(theirs));
            }
        }
    }
}

// out = accumulator / row_sum [* channel_scale], lse = maximum + ln(exp_sum); a row without tokens gets zeros
// and -inf.
inline void finish(int32_t rows, int32_t head_dim, const Partial& partial, const float* channel_scale,
                   float* out, float* lse) {
    for (int32_t r = 0; r < rows; ++r) {
        const float* from = partial.accumulator + static_cast<int64_t>(r) * head_dim;
        float* to = out + static_cast<int64_t>(r) * head_dim;
        const bool empty = partial.maximum[r] == NOTHING;
        const float exp_sum = partial.exp_sum[r];
        const F32x16 total = broadcast(empty ? 1.0F : partial.row_sum[r]);
        const F32x16 poison = broadcast(exp_sum - exp_sum);  // NaN goes on to the output
        for (int32_t x = 0; x < head_dim; x += LANES) {
            F32x16 y = load(from + x) / total + poison;
            if (channel_scale != nullptr) y = y * load(channel_scale + x);
            store(to + x, empty ? broadcast(0.0F) : y);
        }
        if (lse == nullptr) continue;
        alignas(64) float logarithm[LANES];
        store(logarithm, log(broadcast(exp_sum)));
        lse[r] = empty ? NOTHING : partial.maximum[r] + logarithm[0];
    }
}

}  // namespace sals::cpu::SALS_TARGET
