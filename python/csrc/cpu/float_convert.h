// SPDX-License-Identifier: Apache-2.0
// float_convert.h - fp16 and bf16 to fp32 and back, and rounding, to nearest with halves to even.
// Branch-free, so that the compiler vectorises rows of them.
#pragma once
#include <cstdint>
#include <cstring>

#include "cpu/sfaa.h"

namespace sals::cpu {

inline uint32_t float_bits(float x) {
    uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
}

inline float float_of(uint32_t bits) {
    float x = 0.0F;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}

inline float float_from_bf16(uint16_t x) { return float_of(static_cast<uint32_t>(x) << 16); }

inline uint16_t bf16_from_float(float x) {
    const uint32_t bits = float_bits(x);
    const uint32_t nearest = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
    const uint32_t quiet_nan = (bits >> 16) | 0x40U;
    return static_cast<uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : nearest);
}

inline constexpr uint32_t FP16_REBIAS = (127U - 15U) << 23;  // between the exponents of fp16 and fp32

inline float float_from_fp16(uint16_t x) {
    constexpr uint32_t SMALLEST_NORMAL = FP16_REBIAS + (1U << 23);  // 2^-14 as fp32
    const uint32_t magnitude = (static_cast<uint32_t>(x) & 0x7FFFU) << 13;
    const uint32_t normal = magnitude + FP16_REBIAS;
    // 2^-14 * (1 + mantissa) - 2^-14 leaves the denormal's value.
    const uint32_t denormal = float_bits(float_of(magnitude + SMALLEST_NORMAL) - float_of(SMALLEST_NORMAL));
    const uint32_t special = normal + FP16_REBIAS;
    const uint32_t finite = magnitude < (1U << 23) ? denormal : normal;
    const uint32_t bits = magnitude >= (31U << 23) ? special : finite;
    return float_of(bits | (static_cast<uint32_t>(x) & 0x8000U) << 16);
}

inline uint16_t fp16_from_float(float x) {
    const uint32_t bits = float_bits(x);
    const uint32_t magnitude = bits & 0x7FFFFFFFU;
    const uint32_t normal = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U) - FP16_REBIAS) >> 13;
    // The grid of 0.5 is 2^-24, that of fp16's denormals: the sum rounds, its low bits are the result.
    const uint32_t denormal = float_bits(float_of(magnitude) + 0.5F) - float_bits(0.5F);
    const uint32_t special = magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U;
    const uint32_t finite = magnitude < FP16_REBIAS + (1U << 23) ? denormal : normal;
    const uint32_t rounded = magnitude >= 0x47800000U ? special : finite;  // 2^16 and above
    return static_cast<uint16_t>(rounded | (bits >> 16 & 0x8000U));
}

// The nearest whole number, halves to even, of |x| < 2^22: at 1.5 * 2^23 the grid of fp32 is the integers.
inline float nearest_whole(float x) {
    constexpr float GRID = 12582912.0F;
    return (x + GRID) - GRID;
}

// Elements [begin, begin + count) of an array of `type`.
inline void load_floats(const void* from, FloatType type, int64_t begin, int64_t count, float* to) {
    if (type == FloatType::FLOAT32) {
        std::memcpy(to, static_cast<const float*>(from) + begin, count * sizeof(float));
        return;
    }
    const auto* words = static_cast<const uint16_t*>(from) + begin;
    if (type == FloatType::FLOAT16) {
        for (int64_t i = 0; i < count; ++i) to[i] = float_from_fp16(words[i]);
    } else {
        for (int64_t i = 0; i < count; ++i) to[i] = float_from_bf16(words[i]);
    }
}

inline void store_floats(const float* from, int64_t count, FloatType type, int64_t begin, void* to) {
    if (type == FloatType::FLOAT32) {
        std::memcpy(static_cast<float*>(to) + begin, from, count * sizeof(float));
        return;
    }
    auto* words = static_cast<uint16_t*>(to) + begin;
    if (type == FloatType::FLOAT16) {
        for (int64_t i = 0; i < count; ++i) words[i] = fp16_from_float(from[i]);
    } else {
        for (int64_t i = 0; i < count; ++i) words[i] = bf16_from_float(from[i]);
    }
}

}  // namespace sals::cpu
