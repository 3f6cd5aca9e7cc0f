// SPDX-License-Identifier: Apache-2.0
// project.h - from head vectors to int4 index vectors: low-rank projection and quantisation.
#pragma once
#include <cstdint>

namespace sals::cpu {

// latent[r] = sum over i of input[i] * projection[i][r], added in ascending order of i, in fp32.
void project_latent(const float* input, int64_t in_dim, const float* projection, int64_t rank, float* latent);

// Packs rint(latent / scale), scale = amax / 7, into rank / 8 words; returns the scale. amax 0 gives zeros.
float quantize_int4(const float* latent, int64_t rank, int32_t* words);

// NaN if any element is.
float largest_magnitude(const float* x, int64_t count);

}  // namespace sals::cpu
