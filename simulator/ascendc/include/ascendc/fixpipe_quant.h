// SPDX-License-Identifier: Apache-2.0
// fixpipe_quant.h - how values of L0C are converted on their way out. A quantisation parameter is 64 bits:
// 0..31 the factor, a float of which the hardware keeps 10 bits of mantissa; 32..35 and 36 a right shift
// (REQ8 and DEQF16, applied when bit 36 is set); 37..45 an offset; 46 says that the 8-bit result is signed.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ascendc/data_copy_params.h"
#include "ascendc/half.h"

namespace AscendC::internal {

constexpr bool is_per_column(QuantMode_t mode) {
    return mode == QuantMode_t::VDEQF16 || mode == QuantMode_t::VQF322B8_PRE || mode == QuantMode_t::VREQ8;
}

constexpr bool is_scaled(QuantMode_t mode) {
    return mode != QuantMode_t::NoQuant && mode != QuantMode_t::F322F16 && mode != QuantMode_t::F322BF16;
}

// Which conversions lead from L0C values U to T.
template <class T, class U>
constexpr bool converts(QuantMode_t mode) {
    constexpr bool to_8_bits = std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>;
    switch (mode) {
        case QuantMode_t::NoQuant:
            return std::is_same_v<T, U>;
        case QuantMode_t::F322F16:
            return std::is_same_v<U, float> && std::is_same_v<T, half>;
        case QuantMode_t::F322BF16:
            return std::is_same_v<U, float> && std::is_same_v<T, bfloat16_t>;
        case QuantMode_t::DEQF16:
        case QuantMode_t::VDEQF16:
            return std::is_same_v<U, int32_t> && std::is_same_v<T, half>;
        case QuantMode_t::QF322B8_PRE:
        case QuantMode_t::VQF322B8_PRE:
            return std::is_same_v<U, float> && to_8_bits;
        case QuantMode_t::REQ8:
        case QuantMode_t::VREQ8:
            return std::is_same_v<U, int32_t> && to_8_bits;
    }
    return false;
}

struct QuantParam {
    float factor = 1.0f;
    bool shifts = false;
    int shift = 0;
    int offset = 0;
    bool is_signed = false;

    explicit QuantParam(uint64_t bits)
        : factor(__builtin_bit_cast(float, static_cast<uint32_t>(bits) & 0xFFFFE000u)),
          shifts((bits >> 36 & 1) != 0),
          shift(static_cast<int>(bits >> 32 & 0xF) + 1),
          offset(static_cast<int>((bits >> 37 & 0x1FF) ^ 0x100) - 0x100),
          is_signed((bits >> 46 & 1) != 0) {}
};

// value * factor; the negative side becomes 0 with ReLU.
template <class U>
float scaled(U value, const QuantParam& param, bool relu) {
    if (relu && !(value >= U{0})) return 0.0f;
    if constexpr (std::is_same_v<U, int32_t>) {
        if (param.shifts)
            return static_cast<float>(std::clamp(value >> param.shift, -32768, 32767)) * param.factor;
    }
    return static_cast<float>(value) * param.factor;
}

// Rounded to nearest even into 9 bits, then the offset, then clamped to T.
template <class T>
T to_8_bits(float value, const QuantParam& param) {
    if (std::isnan(value)) value = 0.0f;
    const int rounded = static_cast<int>(std::nearbyint(std::clamp(value, -256.0f, 255.0f)));
    const int shifted = rounded + param.offset;
    constexpr int LOW = std::is_signed_v<T> ? -128 : 0, HIGH = std::is_signed_v<T> ? 127 : 255;
    return static_cast<T>(std::clamp(shifted, LOW, HIGH));
}

template <class T, class U>
T convert(U value, const QuantParam& param, bool relu) {
    if constexpr (std::is_same_v<T, U>) {
        return relu ? std::max(value, U{0}) : value;
    } else if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>) {
        return to_8_bits<T>(scaled(value, param, relu), param);
    } else if constexpr (std::is_same_v<U, int32_t>) {
        return T(scaled(value, param, relu));
    } else {
        return T(relu ? std::max(value, 0.0f) : value);
    }
}

}  // namespace AscendC::internal
