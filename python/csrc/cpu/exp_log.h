// SPDX-License-Identifier: Apache-2.0
// exp_log.h - fp32 exp and natural log of sixteen lanes, from separate multiplications and additions only, so
// that equal arguments give equal bits on every target. Error of both: below 1 unit in the last place.
#pragma once
#include "cpu/vec.h"

namespace sals::cpu::SALS_TARGET {

// exp(0) = 1 exactly, exp(-inf) = 0, exp(inf) = inf, NaN stays. Results below 2^-126 are 0 (no denormals).
// exp(x) = 2^n exp(r), n = rint(x / ln 2); the fit of (exp(r) - 1 - r)/r^2 on |r| <= ln(2)/2 is minimax.
SALS_INLINE F32x16 exp(F32x16 x) {
    constexpr float HIGHEST = 88.7228317F;  // the largest x whose exp is finite
    constexpr float TOO_HIGH = 88.7228394F;
    constexpr float LOWEST = -87.3365402F;  // the smallest x whose exp is at least 2^-126
    constexpr float LOG2_E = 1.44269504F;
    constexpr float LN2_HIGH = 0.693359375F;  // 9 bits: n * LN2_HIGH is exact
    constexpr float LN2_LOW = -2.12194440e-4F;
    constexpr float TO_INTEGER = 12582912.0F;  // 1.5 * 2^23: the sum's low bits are n
    const F32x16 clamped = max(broadcast(LOWEST), min(broadcast(HIGHEST), x));
    const F32x16 shifted = clamped * broadcast(LOG2_E) + broadcast(TO_INTEGER);
    const F32x16 n = shifted - broadcast(TO_INTEGER);
    const F32x16 r = (clamped - n * broadcast(LN2_HIGH)) - n * broadcast(LN2_LOW);
    F32x16 p = broadcast(1.38145965e-3F);
    p = p * r + broadcast(8.36871751e-3F);
    p = p * r + broadcast(4.16683890e-2F);
    p = p * r + broadcast(1.66665211e-1F);
    p = p * r + broadcast(4.99999940e-1F);
    const F32x16 mantissa = (p * (r * r) + r) + broadcast(1.0F);
    const F32x16 scaled = from_bits(bits_of(mantissa) + shift_left(bits_of(shifted), 23));
    const F32x16 not_tiny = select(less(x, broadcast(LOWEST)), broadcast(0.0F), scaled);
    return select(less(x, broadcast(TOO_HIGH)), not_tiny, x + broadcast(__builtin_inff()));
}

// log(1) = 0 exactly, log(0) = -inf, log(inf) = inf, NaN below 0 and for NaN; denormals are exact arguments.
// log(2^e m) = e ln 2 + log(m), m in [sqrt(1/2), sqrt(2)); the fit of (log(1+f) - f + f^2/2)/f^3 is minimax.
SALS_INLINE F32x16 log(F32x16 x) {
    constexpr int32_t SQRT_HALF_BITS = 0x3F3504F3;
    constexpr float SMALLEST_NORMAL = 1.17549435e-38F;
    constexpr float INFINITE = __builtin_inff();
    const I32x16 denormal = less(x, broadcast(SMALLEST_NORMAL));
    const I32x16 bits = bits_of(select(denormal, x * broadcast(8388608.0F), x));
    const I32x16 exponent = shift_right(bits - broadcast(SQRT_HALF_BITS), 23);
    const F32x16 e = to_f32(exponent - (denormal & broadcast(23)));
    const F32x16 f = from_bits(bits - shift_left(exponent, 23)) - broadcast(1.0F);
    F32x16 p = broadcast(-7.63442963e-2F);
    p = p * f + broadcast(1.27615497e-1F);
    p = p * f + broadcast(-1.31601945e-1F);
    p = p * f + broadcast(1.42017618e-1F);
    p = p * f + broadcast(-1.66233569e-1F);
    p = p * f + broadcast(2.00012267e-1F);
    p = p * f + broadcast(-2.50008225e-1F);
    p = p * f + broadcast(3.33333313e-1F);
    const F32x16 square = f * f;
    const F32x16 low = (p * (square * f) + e * broadcast(-2.12194440e-4F)) - broadcast(0.5F) * square;
    const F32x16 finite = (f + low) + e * broadcast(0.693359375F);
    F32x16 y = select(equal(x, broadcast(INFINITE)), x, finite);
    y = select(equal(x, broadcast(0.0F)), broadcast(-INFINITE), y);
    const I32x16 has_log = less(broadcast(0.0F), x) | equal(x, broadcast(0.0F));
    return select(has_log, y, broadcast(__builtin_nanf("")));
}

}  // namespace sals::cpu::SALS_TARGET
