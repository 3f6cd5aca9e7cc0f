// SPDX-License-Identifier: Apache-2.0
#include "cpu/project.h"

#include <algorithm>
#include <cmath>

#include "cpu/float_convert.h"
#include "sals/int4_pack.h"

namespace sals::cpu {

void project_latent(const float* input, int64_t in_dim, const float* projection, int64_t rank,
                    float* latent) {
    std::fill_n(latent, rank, 0.0F);
    for (int64_t i = 0; i < in_dim; ++i) {
        const float x = input[i];
        const float* weights = projection + i * rank;
        for (int64_t r = 0; r < rank; ++r) latent[r] += x * weights[r];
    }
}

float largest_magnitude(const float* x, int64_t count) {
    float largest = 0.0F;
    for (int64_t i = 0; i < count; ++i) {
        const float magnitude = std::fabs(x[i]);
        if (!(magnitude <= largest)) largest = magnitude;  // also where it is NaN
        if (std::isnan(largest)) break;
    }
    return largest;
}

float quantize_int4(const float* latent, int64_t rank, int32_t* words) {
    constexpr float LOWEST = INT4_MIN, HIGHEST = INT4_MAX;
    const float scale = largest_magnitude(latent, rank) / HIGHEST;
    for (int64_t w = 0; w < rank / INT4_PER_WORD; ++w) {
        int32_t word = 0;
        for (int32_t i = 0; i < INT4_PER_WORD && scale > 0.0F; ++i) {
            const float clamped = std::max(LOWEST, std::min(HIGHEST, latent[w * INT4_PER_WORD + i] / scale));
            word = int4_set(word, i, static_cast<int32_t>(nearest_whole(clamped)));
        }
        words[w] = word;
    }
    return scale;
}

}  // namespace sals::cpu
