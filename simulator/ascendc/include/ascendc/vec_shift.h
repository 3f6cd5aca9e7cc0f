// SPDX-License-Identifier: Apache-2.0
// vec_shift.h - shifts of integer lanes by a scalar number of bits.
#pragma once
#include "ascendc/vec_elementwise.h"

namespace AscendC {

namespace internal {

// Signed shifts keep the sign bit and move the others.
template <class T>
T shift_left(T value, T amount) {
    using Bits = std::make_unsigned_t<T>;
    constexpr unsigned width = 8 * sizeof(T);
    const uint64_t moved = static_cast<unsigned>(amount) >= width ? 0 : uint64_t{Bits(value)} << amount;
    if constexpr (std::is_signed_v<T>) {
        const Bits sign = static_cast<Bits>(Bits(1) << (width - 1));
        return static_cast<T>((Bits(value) & sign) | (Bits(moved) & static_cast<Bits>(~sign)));
    } else {
        return static_cast<T>(moved);
    }
}

template <class T>
T shift_right(T value, T amount, bool round) {
    const int64_t wide = value;
    const int64_t shifted = wide >> amount;
    if (!std::is_signed_v<T> || !round || amount == 0) return static_cast<T>(shifted);
    return static_cast<T>(shifted + ((wide >> (amount - 1)) & 1));
}

template <class T>
bool shift_amount_fits(const char* name, T amount, sim::Where where) {
    CallCheck check(name, where);
    check.range("scalarValue", static_cast<uint64_t>(static_cast<int64_t>(amount)), 0, 8 * sizeof(T));
    return check.ok();
}

template <class T>
constexpr bool is_shiftable = is_one_of<T, int16_t, uint16_t, int32_t, uint32_t>;

}  // namespace internal

template <class T, bool isSetMask = true>
void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, int32_t count,
               sim::Where where = sim::Where::here()) {
    static_assert(internal::is_shiftable<T>, "ShiftLeft takes 16- and 32-bit integers");
    if (!internal::shift_amount_fits("ShiftLeft", scalarValue, where)) return;
    internal::unary("ShiftLeft", dst, src, internal::count_mask<isSetMask>(count), 1, internal::UNIT_UNARY,
                    where, [scalarValue](T lane) { return internal::shift_left(lane, scalarValue); });
}

template <class T, bool isSetMask = true>
void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,
               const uint64_t mask[], internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
               sim::Where where = sim::Where::here()) {
    static_assert(internal::is_shiftable<T>, "ShiftLeft takes 16- and 32-bit integers");
    if (!internal::shift_amount_fits("ShiftLeft", scalarValue, where)) return;
    internal::unary("ShiftLeft", dst, src, internal::bits_mask<T, isSetMask>(mask), repeatTime, repeatParams,
                    where, [scalarValue](T lane) { return internal::shift_left(lane, scalarValue); });
}

template <class T, bool isSetMask = true>
void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
               internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
               sim::Where where = sim::Where::here()) {
    static_assert(internal::is_shiftable<T>, "ShiftLeft takes 16- and 32-bit integers");
    if (!internal::shift_amount_fits("ShiftLeft", scalarValue, where)) return;
    internal::unary("ShiftLeft", dst, src, internal::lanes_mask<isSetMask>(mask), repeatTime, repeatParams,
                    where, [scalarValue](T lane) { return internal::shift_left(lane, scalarValue); });
}

template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, int32_t count,
                sim::Where where = sim::Where::here()) {
    static_assert(internal::is_shiftable<T>, "ShiftRight takes 16- and 32-bit integers");
    if (!internal::shift_amount_fits("ShiftRight", scalarValue, where)) return;
    internal::unary("ShiftRight", dst, src, internal::count_mask<isSetMask>(count), 1, internal::UNIT_UNARY,
                    where, [scalarValue](T lane) { return internal::shift_right(lane, scalarValue, false); });
}

template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,
                const uint64_t mask[], internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
                bool roundEn = false, sim::Where where = sim::Where::here()) {
    static_assert(internal::is_shiftable<T>, "ShiftRight takes 16- and 32-bit integers");
    if (!internal::shift_amount_fits("ShiftRight", scalarValue, where)) return;
    internal::unary(
        "ShiftRight", dst, src, internal::bits_mask<T, isSetMask>(mask), repeatTime, repeatParams, where,
        [scalarValue, roundEn](T lane) { return internal::shift_right(lane, scalarValue, roundEn); });
}

template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask,
                internal::U8 repeatTime, const UnaryRepeatParams& repeatParams, bool roundEn = false,
                sim::Where where = sim::Where::here()) {
    static_assert(internal::is_shiftable<T>, "ShiftRight takes 16- and 32-bit integers");
    if (!internal::shift_amount_fits("ShiftRight", scalarValue, where)) return;
    internal::unary(
        "ShiftRight", dst, src, internal::lanes_mask<isSetMask>(mask), repeatTime, repeatParams, where,
        [scalarValue, roundEn](T lane) { return internal::shift_right(lane, scalarValue, roundEn); });
}

}  // namespace AscendC
