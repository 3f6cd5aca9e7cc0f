// SPDX-License-Identifier: Apache-2.0
// exp_log.h - exp and natural log of the CPU backend (cpu/exp_log.h), operation by operation: block scores
// and coverage masses have the same bits on both.
#pragma once
#include "cuda/device.h"

namespace sals::cuda {

SALS_DEVICE float smaller_float(float a, float b) { return a < b ? a : b; }  // b where one is NaN
SALS_DEVICE float larger_float(float a, float b) { return a > b ? a : b; }

// One step of Horner's rule.
SALS_DEVICE float step(float p, float x, float c) { return add(multiply(p, x), c); }

SALS_DEVICE float exact_exp(float x) {
    constexpr float HIGHEST = 88.7228317F, TOO_HIGH = 88.7228394F, LOWEST = -87.3365402F;
    constexpr float LOG2_E = 1.44269504F, LN2_HIGH = 0.693359375F, LN2_LOW = -2.12194440e-4F;
    constexpr float TO_INTEGER = 12582912.0F;
    const float clamped = larger_float(LOWEST, smaller_float(HIGHEST, x));
    const float shifted = add(multiply(clamped, LOG2_E), TO_INTEGER);
    const float n = subtract(shifted, TO_INTEGER);
    const float r = subtract(subtract(clamped, multiply(n, LN2_HIGH)), multiply(n, LN2_LOW));
    float p = 1.38145965e-3F;
    p = step(p, r, 8.36871751e-3F);
    p = step(p, r, 4.16683890e-2F);
    p = step(p, r, 1.66665211e-1F);
    p = step(p, r, 4.99999940e-1F);
    const float mantissa = add(add(multiply(p, multiply(r, r)), r), 1.0F);
    const float scaled = float_of_bits(bits_of_float(mantissa) + (bits_of_float(shifted) << 23));
    const float not_tiny = x < LOWEST ? 0.0F : scaled;
    return x < TOO_HIGH ? not_tiny : add(x, infinity());
}

SALS_DEVICE float exact_log(float x) {
    constexpr uint32_t SQRT_HALF_BITS = 0x3F3504F3U;
    const bool denormal = x < 1.17549435e-38F;
    const uint32_t bits = bits_of_float(denormal ? multiply(x, 8388608.0F) : x);
    const int32_t exponent = static_cast<int32_t>(bits - SQRT_HALF_BITS) >> 23;
    const float e = static_cast<float>(exponent - (denormal ? 23 : 0));
    const float f = subtract(float_of_bits(bits - (static_cast<uint32_t>(exponent) << 23)), 1.0F);
    float p = -7.63442963e-2F;
    p = step(p, f, 1.27615497e-1F);
    p = step(p, f, -1.31601945e-1F);
    p = step(p, f, 1.42017618e-1F);
    p = step(p, f, -1.66233569e-1F);
    p = step(p, f, 2.00012267e-1F);
    p = step(p, f, -2.50008225e-1F);
    p = step(p, f, 3.33333313e-1F);
    const float square = multiply(f, f);
    const float low =
        subtract(add(multiply(p, multiply(square, f)), multiply(e, -2.12194440e-4F)), multiply(0.5F, square));
    const float finite = add(add(f, low), multiply(e, 0.693359375F));
    float y = x == infinity() ? x : finite;
    y = x == 0.0F ? -infinity() : y;
    return x >= 0.0F ? y : float_of_bits(0x7FC00000U);
}

}  // namespace sals::cuda
