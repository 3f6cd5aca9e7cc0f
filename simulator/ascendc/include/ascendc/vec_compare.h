// SPDX-License-Identifier: Apache-2.0
// vec_compare.h - Compare and CompareScalar (Compares): one bit per lane, lane 0 in the lowest bit, repeat
// after repeat without gaps. Every lane of a repeat is compared: these instructions ignore the mask.
#pragma once
#include <algorithm>

#include "ascendc/vec_elementwise.h"

namespace AscendC {

namespace internal {

template <class T>
bool holds(CMPMODE mode, T a, T b) {
    switch (mode) {
        case CMPMODE::LT:
            return a < b;
        case CMPMODE::GT:
            return a > b;
        case CMPMODE::EQ:
            return a == b;
        case CMPMODE::LE:
            return a <= b;
        case CMPMODE::GE:
            return a >= b;
        default:
            return a != b;
    }
}

// The second source is a tensor or a scalar.
template <class T>
struct CompareSource {
    const LocalTensor<T>* tensor;
    T scalar;
    U8 block_stride, repeat_stride;
};

template <class T, class U>
void compare(const char* name, const LocalTensor<U>& dst, const LocalTensor<T>& src0, const U16& block_stride,
             const U8& repeat_stride, const CompareSource<T>& src1, CMPMODE mode, U8 repeats,
             sim::Where where) {
    static_assert(is_one_of<T, half, float, int32_t>, "compares half, float or int32_t");
    static_assert(sizeof(U) == 1, "the result is bits in int8_t or uint8_t");
    constexpr uint32_t lanes = lanes_of<T>();
    VectorCall call(name, where);
    call.check_place("dst", dst, ONE_BLK_SIZE);
    const Operand a = call.operand("src0", src0, block_stride, repeat_stride);
    const Operand b =
        src1.tensor ? call.operand("src1", *src1.tensor, src1.block_stride, src1.repeat_stride) : a;
    repeats.check(call, "repeatTime");
    if (std::is_same_v<T, int32_t> && mode != CMPMODE::EQ)
        call.fail("int32_t can only be compared for CMPMODE::EQ");
    if (call.core()->registers().mask_counter_mode) {
        call.fail("not defined in counter mode: call SetMaskNorm before");
    }
    call.activate(LanePlan::of_count(lanes, uint64_t{lanes} * uint8_t{repeats}));
    if (!call.goes_on()) return;
    const uint64_t bytes = uint64_t{lanes} / 8 * uint8_t{repeats};
    const ByteRange result{dst.sim_begin(), dst.sim_begin() + bytes};
    call.apart("dst", result, "src0", call.range_of(a));
    call.apart("dst", result, "src1", call.range_of(b));
    call.reads(a);
    if (src1.tensor) call.reads(b);
    call.uses(sim::Use::WRITE, sim::Span::run(result.begin, bytes));
    const bool is_scalar = src1.tensor == nullptr;
    call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), a, b, is_scalar, scalar = src1.scalar,
                              mode, begin = result.begin, bytes] {
        uint8_t* ub = core->memory(sim::Mem::UB).data.data();
        uint8_t* bits = ub + begin;
        std::fill_n(bits, bytes, uint8_t{0});
        uint64_t lane = 0;
        for_each_piece(plan, std::array{a, b},
                       [&](const std::array<uint64_t, 2>& at, uint32_t, uint32_t count) {
                           for (uint32_t i = 0; i < count; ++i, ++lane) {
                               const T right = is_scalar ? scalar : load<T>(ub + at[1], i);
                               const bool bit = holds(mode, load<T>(ub + at[0], i), right);
                               bits[lane / 8] |= static_cast<uint8_t>(bit << (lane % 8));
                           }
                       });
    });
}

// `count` elements must fill whole repeats. An instruction does at most 252 of them: results then stay
// aligned.
template <class T, class F>
void for_each_compare(const char* name, uint32_t count, sim::Where where, F f) {
    constexpr uint32_t MAX_REPEATS = 252;
    constexpr uint32_t lanes = lanes_of<T>();
    CallCheck check(name, where);
    check.multiple("count", count, lanes, ": results exist for whole 256 bytes only");
    if (!check.ok()) return;
    for (uint32_t done = 0; done < count / lanes; done += MAX_REPEATS) {
        f(done * lanes, std::min(MAX_REPEATS, count / lanes - done));
    }
}

}  // namespace internal

template <class T, class U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, uint32_t count, sim::Where where = sim::Where::here()) {
    internal::for_each_compare<T>("Compare", count, where, [&](uint32_t first, uint32_t repeats) {
        const LocalTensor<T> right = src1[first];
        internal::compare<T>("Compare", dst[first / 8], src0[first], 1, 8, {&right, T{}, 1, 8}, cmpMode,
                             repeats, where);
    });
}

template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, uint64_t, internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
             sim::Where where = sim::Where::here()) {
    internal::compare<T>(
        "Compare", dst, src0, uint8_t{repeatParams.src0BlkStride}, repeatParams.src0RepStride,
        {&src1, T{}, repeatParams.src1BlkStride, repeatParams.src1RepStride}, cmpMode, repeatTime, where);
}

template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, const uint64_t[], internal::U8 repeatTime,
             const BinaryRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {
    Compare(dst, src0, src1, cmpMode, uint64_t{0}, repeatTime, repeatParams, where);
}

template <class T, class U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
                   uint32_t count, sim::Where where = sim::Where::here()) {
    internal::for_each_compare<T>("CompareScalar", count, where, [&](uint32_t first, uint32_t repeats) {
        internal::compare<T>("CompareScalar", dst[first / 8], src0[first], 1, 8, {nullptr, src1Scalar, 1, 8},
                             cmpMode, repeats, where);
    });
}

template <class T, class U, bool isSetMask = true>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
                   uint64_t, internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
                   sim::Where where = sim::Where::here()) {
    internal::compare<T>("CompareScalar", dst, src0, repeatParams.srcBlkStride, repeatParams.srcRepStride,
                         {nullptr, src1Scalar, 1, 8}, cmpMode, repeatTime, where);
}

template <class T, class U, bool isSetMask = true>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
                   const uint64_t[], internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
                   sim::Where where = sim::Where::here()) {
    CompareScalar(dst, src0, src1Scalar, cmpMode, uint64_t{0}, repeatTime, repeatParams, where);
}

// The newer name of CompareScalar.
template <class T, class U>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
              uint32_t count, sim::Where where = sim::Where::here()) {
    CompareScalar(dst, src0, src1Scalar, cmpMode, count, where);
}

template <class T, class U, bool isSetMask = true>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
              uint64_t mask, internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
              sim::Where where = sim::Where::here()) {
    CompareScalar(dst, src0, src1Scalar, cmpMode, mask, repeatTime, repeatParams, where);
}

template <class T, class U, bool isSetMask = true>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
              const uint64_t mask[], internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
              sim::Where where = sim::Where::here()) {
    CompareScalar(dst, src0, src1Scalar, cmpMode, mask, repeatTime, repeatParams, where);
}

}  // namespace AscendC
