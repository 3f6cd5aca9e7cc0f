// SPDX-License-Identifier: Apache-2.0
// vec_arithmetic.h - dst = op(src), dst = src0 op src1 and dst = src op scalar, lane by lane. Float is IEEE
// single precision without contraction; half is computed in float and rounded once; integers wrap around.
#pragma once
#include <cmath>
#include <limits>

#include "ascendc/vec_elementwise.h"

namespace AscendC {

namespace internal {

// The type in which lanes of T are computed.
template <class T>
struct Wide {
    using Type =
        std::conditional_t<std::is_integral_v<T>,
                           std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>, float>;
};
template <class T>
using WideOf = typename Wide<T>::Type;

template <class T>
bool is_nan(T value) {
    if constexpr (std::is_integral_v<T>) {
        return false;
    } else {
        return std::isnan(static_cast<float>(value));
    }
}

struct AddOp {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(WideOf<T>(a) + WideOf<T>(b));
    }
};
struct SubOp {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(WideOf<T>(a) - WideOf<T>(b));
    }
};
struct MulOp {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
        } else {
            return static_cast<T>(float(a) * float(b));
        }
    }
};
struct DivOp {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(float(a) / float(b));
    }
};
// A NaN in either source comes through.
struct MaxOp {
    template <class T>
    T operator()(T a, T b) const {
        return is_nan(a) || b < a ? a : b;
    }
};
struct MinOp {
    template <class T>
    T operator()(T a, T b) const {
        return is_nan(a) || a < b ? a : b;
    }
};
struct AndOp {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a & b);
    }
};
struct OrOp {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a | b);
    }
};
struct AddReluOp {
    template <class T>
    T operator()(T a, T b) const {
        const T sum = AddOp{}(a, b);
        return is_nan(sum) || sum > T(0) ? sum : T(0);
    }
};
struct SubReluOp {
    template <class T>
    T operator()(T a, T b) const {
        const T difference = SubOp{}(a, b);
        return is_nan(difference) || difference > T(0) ? difference : T(0);
    }
};
struct LeakyReluOp {
    template <class T>
    T operator()(T a, T slope) const {
        return a < T(0) ? static_cast<T>(float(a) * float(slope)) : a;
    }
};

struct AbsOp {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(std::fabs(static_cast<float>(a)));
    }
};
// Exp and Ln are rounded once from double precision: at most half a unit in the last place (half: of the 16
// bits).
struct ExpOp {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(static_cast<float>(std::exp(static_cast<double>(static_cast<float>(a)))));
    }
};
struct LnOp {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(static_cast<float>(std::log(static_cast<double>(static_cast<float>(a)))));
    }
};
struct SqrtOp {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(std::sqrt(static_cast<float>(a)));
    }
};
struct RsqrtOp {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(
            static_cast<float>(1.0 / std::sqrt(static_cast<double>(static_cast<float>(a)))));
    }
};
struct ReciprocalOp {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(1.0f / static_cast<float>(a));
    }
};
struct ReluOp {
    template <class T>
    T operator()(T a) const {
        return is_nan(a) || a > T(0) ? a : T(0);
    }
};
struct NotOp {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(~a);
    }
};

}  // namespace internal

// Each function has three forms: the first `count` elements; repeats with a mask of bits; repeats with a mask
// of leading lanes.
#define SALS_VECTOR_UNARY(NAME, OP, ...)                                                                    \
    template <class T>                                                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count,                          \
              sim::Where where = sim::Where::here()) {                                                      \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");               \
        internal::unary(#NAME, dst, src, internal::count_mask<true>(count), 1, internal::UNIT_UNARY, where, \
                        internal::OP{});                                                                    \
    }                                                                                                       \
    template <class T, bool isSetMask = true>                                                               \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],                  \
              internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,                               \
              sim::Where where = sim::Where::here()) {                                                      \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");               \
        internal::unary(#NAME, dst, src, internal::bits_mask<T, isSetMask>(mask), repeatTime, repeatParams, \
                        where, internal::OP{});                                                             \
    }                                                                                                       \
    template <class T, bool isSetMask = true>                                                               \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, internal::U8 repeatTime, \
              const UnaryRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {               \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");               \
        internal::unary(#NAME, dst, src, internal::lanes_mask<isSetMask>(mask), repeatTime, repeatParams,   \
                        where, internal::OP{});                                                             \
    }

#define SALS_VECTOR_BINARY(NAME, OP, ACCUMULATE, ...)                                                     \
    template <class T>                                                                                    \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,          \
              int32_t count, sim::Where where = sim::Where::here()) {                                     \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");             \
        internal::binary(#NAME, dst, src0, src1, internal::count_mask<true>(count), 1,                    \
                         internal::UNIT_BINARY, where, internal::Accumulate::ACCUMULATE, internal::OP{}); \
    }                                                                                                     \
    template <class T, bool isSetMask = true>                                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,          \
              const uint64_t mask[], internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,     \
              sim::Where where = sim::Where::here()) {                                                    \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");             \
        internal::binary(#NAME, dst, src0, src1, internal::bits_mask<T, isSetMask>(mask), repeatTime,     \
                         repeatParams, where, internal::Accumulate::ACCUMULATE, internal::OP{});          \
    }                                                                                                     \
    template <class T, bool isSetMask = true>                                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,          \
              uint64_t mask, internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,             \
              sim::Where where = sim::Where::here()) {                                                    \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");             \
        internal::binary(#NAME, dst, src0, src1, internal::lanes_mask<isSetMask>(mask), repeatTime,       \
                         repeatParams, where, internal::Accumulate::ACCUMULATE, internal::OP{});          \
    }

#define SALS_VECTOR_SCALAR(NAME, OP, ...)                                                                   \
    template <class T, bool isSetMask = true>                                                               \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, int32_t count,    \
              sim::Where where = sim::Where::here()) {                                                      \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");               \
        internal::unary(#NAME, dst, src, internal::count_mask<isSetMask>(count), 1, internal::UNIT_UNARY,   \
                        where, [scalarValue](T lane) { return internal::OP{}(lane, scalarValue); });        \
    }                                                                                                       \
    template <class T, bool isSetMask = true>                                                               \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,                   \
              const uint64_t mask[], internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,        \
              sim::Where where = sim::Where::here()) {                                                      \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");               \
        internal::unary(#NAME, dst, src, internal::bits_mask<T, isSetMask>(mask), repeatTime, repeatParams, \
                        where, [scalarValue](T lane) { return internal::OP{}(lane, scalarValue); });        \
    }                                                                                                       \
    template <class T, bool isSetMask = true>                                                               \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,    \
              internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,                               \
              sim::Where where = sim::Where::here()) {                                                      \
        static_assert(internal::is_one_of<T, __VA_ARGS__>, #NAME " does not take this type");               \
        internal::unary(#NAME, dst, src, internal::lanes_mask<isSetMask>(mask), repeatTime, repeatParams,   \
                        where, [scalarValue](T lane) { return internal::OP{}(lane, scalarValue); });        \
    }

SALS_VECTOR_UNARY(Abs, AbsOp, half, float)
SALS_VECTOR_UNARY(Exp, ExpOp, half, float)
SALS_VECTOR_UNARY(Ln, LnOp, half, float)
SALS_VECTOR_UNARY(Sqrt, SqrtOp, half, float)
SALS_VECTOR_UNARY(Rsqrt, RsqrtOp, half, float)
SALS_VECTOR_UNARY(Reciprocal, ReciprocalOp, half, float)
SALS_VECTOR_UNARY(Relu, ReluOp, half, int32_t, float)
SALS_VECTOR_UNARY(Not, NotOp, int16_t, uint16_t)

SALS_VECTOR_BINARY(Add, AddOp, YES, int16_t, half, int32_t, float)
SALS_VECTOR_BINARY(Sub, SubOp, YES, int16_t, half, int32_t, float)
SALS_VECTOR_BINARY(Mul, MulOp, YES, int16_t, half, int32_t, float)
SALS_VECTOR_BINARY(Div, DivOp, NO, half, float)
SALS_VECTOR_BINARY(Max, MaxOp, YES, int16_t, half, int32_t, float)
SALS_VECTOR_BINARY(Min, MinOp, YES, int16_t, half, int32_t, float)
SALS_VECTOR_BINARY(And, AndOp, NO, int16_t, uint16_t)
SALS_VECTOR_BINARY(Or, OrOp, NO, int16_t, uint16_t)
SALS_VECTOR_BINARY(AddRelu, AddReluOp, YES, int16_t, half, float)
SALS_VECTOR_BINARY(SubRelu, SubReluOp, YES, int16_t, half, float)

SALS_VECTOR_SCALAR(Adds, AddOp, int16_t, half, int32_t, float)
SALS_VECTOR_SCALAR(Muls, MulOp, int16_t, half, int32_t, float)
SALS_VECTOR_SCALAR(Maxs, MaxOp, int16_t, half, int32_t, float)
SALS_VECTOR_SCALAR(Mins, MinOp, int16_t, half, int32_t, float)
SALS_VECTOR_SCALAR(LeakyRelu, LeakyReluOp, half, float)

#undef SALS_VECTOR_UNARY
#undef SALS_VECTOR_BINARY
#undef SALS_VECTOR_SCALAR

}  // namespace AscendC
