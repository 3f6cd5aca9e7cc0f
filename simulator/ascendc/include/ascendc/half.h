// SPDX-License-Identifier: Apache-2.0
// half.h - the two 16-bit floating-point types. Arithmetic happens in float; a result is rounded to nearest
// even when it becomes 16 bits wide again. Both conversions keep NaN and infinity; half keeps subnormal
// numbers.
#pragma once
#include <cstdint>

namespace AscendC::internal {

constexpr uint16_t half_bits(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t sign = (bits >> 16) & 0x8000;
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);  // NaN
    if (magnitude >= 0x477FF000)
        return static_cast<uint16_t>(sign | 0x7C00);  // 65520 and up round to infinity
    if (magnitude <
        0x38800000) {  // below 2^-14: units of 2^-24, which adding 0.5 leaves in the low mantissa bits
        const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (__builtin_bit_cast(uint32_t, shifted) - 0x3F000000));
    }
    const uint32_t odd = (magnitude >> 13) & 1;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + odd) >> 13));
}

constexpr float half_value(uint16_t half) {
    const uint32_t sign = uint32_t{half & 0x8000u} << 16;
    const uint32_t exponent = (half >> 10) & 0x1F;
    const uint32_t mantissa = half & 0x3FF;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return __builtin_bit_cast(float, sign | __builtin_bit_cast(uint32_t, magnitude));
    }
    const uint32_t wide = exponent == 0x1F ? 0xFF : exponent + 112;
    return __builtin_bit_cast(float, sign | (wide << 23) | (mantissa << 13));
}

constexpr uint16_t bfloat16_bits(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
    return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

constexpr float bfloat16_value(uint16_t bits) { return __builtin_bit_cast(float, uint32_t{bits} << 16); }

}  // namespace AscendC::internal

struct half {
    uint16_t bits;

    half() = default;
    constexpr half(float value) : bits(AscendC::internal::half_bits(value)) {}
    constexpr operator float() const { return AscendC::internal::half_value(bits); }
    static constexpr half from_bits(uint16_t bits) {
        half h(0.0f);
        h.bits = bits;
        return h;
    }
};

struct bfloat16_t {
    uint16_t bits;

    bfloat16_t() = default;
    constexpr bfloat16_t(float value) : bits(AscendC::internal::bfloat16_bits(value)) {}
    constexpr operator float() const { return AscendC::internal::bfloat16_value(bits); }
    static constexpr bfloat16_t from_bits(uint16_t bits) {
        bfloat16_t b(0.0f);
        b.bits = bits;
        return b;
    }
};

static_assert(sizeof(half) == 2 && sizeof(bfloat16_t) == 2, "16-bit types");
