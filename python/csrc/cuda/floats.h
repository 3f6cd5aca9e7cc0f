// SPDX-License-Identifier: Apache-2.0
// floats.h - elements of arrays whose float type is known at run time, and whole numbers from floats.
#pragma once
#include "cuda/device.h"
#include "cuda/launch.h"

#if !defined(SALS_CUDA_ON_CPU)
#include <cuda_bf16.h>
#endif

namespace sals::cuda {

#if defined(SALS_CUDA_ON_CPU)
inline uint16_t bfloat16_bits(float x) { return cpu::bf16_from_float(x); }
#else
SALS_DEVICE uint16_t bfloat16_bits(float x) { return __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
#endif

SALS_DEVICE float load_float(const void* from, FloatType type, int64_t i) {
    if (type == FloatType::FLOAT32) return static_cast<const float*>(from)[i];
    const uint32_t bits = static_cast<const uint16_t*>(from)[i];
    return type == FloatType::FLOAT16 ? half_to_float(bits) : float_of_bits(bits << 16);
}

SALS_DEVICE void store_float(void* to, FloatType type, int64_t i, float x) {
    if (type == FloatType::FLOAT32) {
        static_cast<float*>(to)[i] = x;
    } else if (type == FloatType::FLOAT16) {
        static_cast<uint16_t*>(to)[i] = static_cast<uint16_t>(pack_halves(x, 0.0F));
    } else {
        static_cast<uint16_t*>(to)[i] = bfloat16_bits(x);
    }
}

// The nearest whole number of |x| < 2^22, halves to even.
SALS_DEVICE float nearest_whole(float x) { return subtract(add(x, 12582912.0F), 12582912.0F); }

// The larger magnitude; NaN wins.
SALS_DEVICE float larger_magnitude(float largest, float x) {
    const float magnitude = fabsf(x);
    return magnitude <= largest || largest != largest ? largest : magnitude;
}

}  // namespace sals::cuda
