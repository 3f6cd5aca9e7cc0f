// SPDX-License-Identifier: Apache-2.0
// vec_cast_rules.h - which conversions Cast has on architecture 2201 and how each rounding mode rounds.
#pragma once
#include <cmath>
#include <limits>
#include <type_traits>

#include "ascendc/half.h"
#include "ascendc/int4.h"
#include "ascendc/types.h"

namespace AscendC::internal {

constexpr uint32_t mode_bit(RoundMode mode) { return 1u << static_cast<uint32_t>(mode); }

constexpr uint32_t MODE_NONE = mode_bit(RoundMode::CAST_NONE);
constexpr uint32_t MODE_ODD = mode_bit(RoundMode::CAST_ODD);
constexpr uint32_t MODES_5 = mode_bit(RoundMode::CAST_RINT) | mode_bit(RoundMode::CAST_FLOOR) |
                             mode_bit(RoundMode::CAST_CEIL) | mode_bit(RoundMode::CAST_ROUND) |
                             mode_bit(RoundMode::CAST_TRUNC);
constexpr uint32_t MODES_6 = MODES_5 | MODE_NONE;

// The rounding modes with which Src can be cast to Dst; 0: there is no such instruction.
template <class Dst, class Src>
constexpr uint32_t cast_modes() {
    const auto pair = [](auto* dst, auto* src) {
        return std::is_same_v<Dst, std::remove_pointer_t<decltype(dst)>> &&
               std::is_same_v<Src, std::remove_pointer_t<decltype(src)>>;
    };
    constexpr half* h = nullptr;
    constexpr bfloat16_t* b = nullptr;
    constexpr float* f = nullptr;
    constexpr int4b_t* i4 = nullptr;
    constexpr int8_t* i8 = nullptr;
    constexpr uint8_t* u8 = nullptr;
    constexpr int16_t* i16 = nullptr;
    constexpr int32_t* i32 = nullptr;
    constexpr int64_t* i64 = nullptr;
    if (pair(h, i4) || pair(h, i8) || pair(h, u8)) return MODE_NONE;
    if (pair(h, i16) || pair(h, i32)) return MODES_6;
    if (pair(i4, h) || pair(i8, h) || pair(u8, h)) return MODES_6;
    if (pair(i16, h) || pair(i32, h) || pair(i32, b)) return MODES_5;
    if (pair(f, h) || pair(f, b) || pair(f, i16)) return MODE_NONE;
    if (pair(i16, i32) || pair(i64, i32) || pair(i32, i64)) return MODE_NONE;
    if (pair(f, i32)) return MODES_6;
    if (pair(h, f)) return MODES_6 | MODE_ODD;
    if (pair(i16, f) || pair(b, f) || pair(i32, f) || pair(f, f) || pair(i64, f) || pair(f, i64))
        return MODES_5;
    return 0;
}

// x, a multiple of nothing in particular, to an integer.
template <RoundMode mode, class Real>
Real round_to_integer(Real x) {
    if constexpr (mode == RoundMode::CAST_FLOOR) {
        return std::floor(x);
    } else if constexpr (mode == RoundMode::CAST_CEIL) {
        return std::ceil(x);
    } else if constexpr (mode == RoundMode::CAST_ROUND) {
        return std::round(x);
    } else if constexpr (mode == RoundMode::CAST_TRUNC) {
        return std::trunc(x);
    } else if constexpr (mode == RoundMode::CAST_ODD) {
        const Real towards_zero = std::trunc(x);
        const bool odd = std::fmod(towards_zero, Real(2)) != 0;
        return towards_zero == x || odd ? towards_zero : towards_zero + std::copysign(Real(1), x);
    } else {
        return std::nearbyint(x);
    }
}

template <class T>
struct FloatFormat;
template <>
struct FloatFormat<half> {
    static constexpr int MANTISSA = 10, MIN_EXPONENT = -14;
    static constexpr double MAX = 65504.0;
};
template <>
struct FloatFormat<bfloat16_t> {
    static constexpr int MANTISSA = 7, MIN_EXPONENT = -126;
    static constexpr double MAX = 0x1.FEp127;
};
template <>
struct FloatFormat<float> {
    static constexpr int MANTISSA = 23, MIN_EXPONENT = -126;
    static constexpr double MAX = 0x1.FFFFFEp127;
};

// x to the numbers that Dst has; beyond its largest, infinity.
template <class Dst, RoundMode mode, class Real>
Dst round_to_float(Real x) {
    using Format = FloatFormat<Dst>;
    if (x == 0 || !std::isfinite(x)) return static_cast<Dst>(static_cast<float>(x));
    const int exponent = std::max(std::ilogb(x), Format::MIN_EXPONENT);
    const Real unit = std::ldexp(Real(1), exponent - Format::MANTISSA);
    const Real rounded = std::copysign(round_to_integer<mode>(x / unit) * unit, x);
    if (std::fabs(rounded) > Format::MAX) {
        return static_cast<Dst>(std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(x)));
    }
    return static_cast<Dst>(static_cast<float>(rounded));
}

template <class T>
constexpr bool IS_INTEGER = std::is_integral_v<T> || std::is_same_v<T, int4b_t>;

template <class T>
constexpr int64_t lowest_of() {
    if constexpr (std::is_same_v<T, int4b_t>) {
        return -8;
    } else {
        return std::numeric_limits<T>::min();
    }
}

template <class T>
constexpr int64_t highest_of() {
    if constexpr (std::is_same_v<T, int4b_t>) {
        return 7;
    } else {
        return std::numeric_limits<T>::max();
    }
}

// Integers that do not fit become the nearest that does, NaN becomes 0.
template <class Dst, RoundMode mode, class Real>
Dst round_to_range(Real x) {
    if (std::isnan(x)) return static_cast<Dst>(0);
    const Real rounded = round_to_integer<mode>(x);
    if (rounded <= static_cast<Real>(lowest_of<Dst>())) return static_cast<Dst>(lowest_of<Dst>());
    if (rounded >= static_cast<Real>(highest_of<Dst>())) return static_cast<Dst>(highest_of<Dst>());
    return static_cast<Dst>(static_cast<int64_t>(rounded));
}

template <class Dst, class Src, RoundMode mode>
Dst cast_lane(Src x) {
    constexpr bool nearest = mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
    if constexpr (IS_INTEGER<Dst> && IS_INTEGER<Src>) {
        const int64_t value = x;
        return static_cast<Dst>(std::min(std::max(value, lowest_of<Dst>()), highest_of<Dst>()));
    } else if constexpr (IS_INTEGER<Dst>) {
        return round_to_range<Dst, mode>(static_cast<double>(static_cast<float>(x)));
    } else if constexpr (std::is_same_v<Dst, float> && std::is_same_v<Src, float>) {
        return round_to_integer<mode>(x);
    } else if constexpr (std::is_same_v<Src, int64_t>) {
        return round_to_float<Dst, mode>(static_cast<long double>(x));
    } else if constexpr (IS_INTEGER<Src>) {
        if constexpr (nearest && std::is_same_v<Dst, float>) return static_cast<float>(x);
        return round_to_float<Dst, mode>(static_cast<double>(x));
    } else if constexpr (nearest) {
        return static_cast<Dst>(static_cast<float>(x));
    } else {
        return round_to_float<Dst, mode>(static_cast<double>(static_cast<float>(x)));
    }
}

}  // namespace AscendC::internal
