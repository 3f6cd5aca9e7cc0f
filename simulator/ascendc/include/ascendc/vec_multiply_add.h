// SPDX-License-Identifier: Apache-2.0
// vec_multiply_add.h - products that are added up. Product and sum are rounded one after the other in float;
// half operands are widened first and the result is rounded to half once.
#pragma once
#include "ascendc/vec_elementwise.h"

namespace AscendC {

namespace internal {

// Types of MulAddDst and Axpy: equal, or half factors added to float.
template <class T, class U>
constexpr bool is_accumulation =
    is_one_of<T, half, float> &&
    (std::is_same_v<T, U> || (std::is_same_v<T, float> && std::is_same_v<U, half>));

// dst += f(src) or f(src0) * f(src1): the factors may be half as wide as the sum.
template <class T, class U, class F>
void accumulate(const char* name, const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask,
                U8 repeats, const UnaryRepeatParams* strides, sim::Where where, F f) {
    static_assert(is_accumulation<T, U>, "sums are half or float, factors the same or half");
    VectorCall call(name, where);
    const uint32_t lanes = lanes_of<T>();
    const Operand d = strides ? call.operand("dst", dst, strides->dstBlkStride, strides->dstRepStride)
                              : call.operand("dst", dst, lanes);
    const Operand s = strides ? call.operand("src", src, strides->srcBlkStride, strides->srcRepStride)
                              : call.operand("src", src, lanes);
    call.activate(mask, repeats, lanes);
    call.may_overlap(d, "src", s);
    call.reads(s);
    call.reads(d);
    call.writes(d);
    call.dispatch_pieces(sizeof(T), std::array{d, s},
                         [f](uint8_t* ub, const auto& at, uint32_t, uint32_t count) {
                             for (uint32_t i = 0; i < count; ++i)
                                 store<T>(ub + at[0], i, f(load<T>(ub + at[0], i), load<U>(ub + at[1], i)));
                         });
}

// dst = f(dst, src0, src1). strides null: no gaps.
template <class T, class U, class F>
void multiply_add(const char* name, const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                  const LocalTensor<U>& src1, const Mask& mask, U8 repeats, const BinaryRepeatParams* strides,
                  sim::Where where, F f) {
    static_assert(is_accumulation<T, U>, "sums are half or float, factors the same or half");
    VectorCall call(name, where);
    const uint32_t lanes = lanes_of<T>();
    const Operand d = strides ? call.operand("dst", dst, strides->dstBlkStride, strides->dstRepStride)
                              : call.operand("dst", dst, lanes);
    const Operand a = strides ? call.operand("src0", src0, strides->src0BlkStride, strides->src0RepStride)
                              : call.operand("src0", src0, lanes);
    const Operand b = strides ? call.operand("src1", src1, strides->src1BlkStride, strides->src1RepStride)
                              : call.operand("src1", src1, lanes);
    call.activate(mask, repeats, lanes);
    call.may_overlap(d, "src0", a);
    call.may_overlap(d, "src1", b);
    call.reads(a);
    call.reads(b);
    call.reads(d);
    call.writes(d);
    call.dispatch_pieces(
        sizeof(T), std::array{d, a, b}, [f](uint8_t* ub, const auto& at, uint32_t, uint32_t count) {
            for (uint32_t i = 0; i < count; ++i) {
                store<T>(ub + at[0], i,
                         f(load<T>(ub + at[0], i), load<U>(ub + at[1], i), load<U>(ub + at[2], i)));
            }
        });
}

struct MulAddDstOp {
    template <class T, class U>
    T operator()(T sum, U a, U b) const {
        return static_cast<T>(float(a) * float(b) + float(sum));
    }
};
struct FusedMulAddOp {
    template <class T>
    T operator()(T factor, T a, T b) const {
        return static_cast<T>(float(a) * float(factor) + float(b));
    }
};
struct FusedMulAddReluOp {
    template <class T>
    T operator()(T factor, T a, T b) const {
        const T sum = FusedMulAddOp{}(factor, a, b);
        return static_cast<float>(sum) <= 0 ? T(0.0f) : sum;
    }
};

}  // namespace internal

// dst = src * scalar + dst
template <class T, class U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, int32_t count,
          sim::Where where = sim::Where::here()) {
    internal::accumulate("Axpy", dst, src, internal::count_mask<true>(count), 1, nullptr, where,
                         [scalarValue](T sum, U x) { return internal::MulAddDstOp{}(sum, x, scalarValue); });
}

template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, const uint64_t mask[],
          internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
          sim::Where where = sim::Where::here()) {
    internal::accumulate("Axpy", dst, src, internal::bits_mask<T, isSetMask>(mask), repeatTime, &repeatParams,
                         where,
                         [scalarValue](T sum, U x) { return internal::MulAddDstOp{}(sum, x, scalarValue); });
}

template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, uint64_t mask,
          internal::U8 repeatTime, const UnaryRepeatParams& repeatParams,
          sim::Where where = sim::Where::here()) {
    internal::accumulate("Axpy", dst, src, internal::lanes_mask<isSetMask>(mask), repeatTime, &repeatParams,
                         where,
                         [scalarValue](T sum, U x) { return internal::MulAddDstOp{}(sum, x, scalarValue); });
}

// dst = src0 * src1 + dst
template <class T, class U>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
               int32_t count, sim::Where where = sim::Where::here()) {
    internal::multiply_add("MulAddDst", dst, src0, src1, internal::count_mask<true>(count), 1, nullptr, where,
                           internal::MulAddDstOp{});
}

template <class T, class U, bool isSetMask = true>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
               const uint64_t mask[], internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
               sim::Where where = sim::Where::here()) {
    internal::multiply_add("MulAddDst", dst, src0, src1, internal::bits_mask<T, isSetMask>(mask), repeatTime,
                           &repeatParams, where, internal::MulAddDstOp{});
}

template <class T, class U, bool isSetMask = true>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
               uint64_t mask, internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
               sim::Where where = sim::Where::here()) {
    internal::multiply_add("MulAddDst", dst, src0, src1, internal::lanes_mask<isSetMask>(mask), repeatTime,
                           &repeatParams, where, internal::MulAddDstOp{});
}

// dst = src0 * dst + src1
template <class T>
void FusedMulAdd(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                 int32_t count, sim::Where where = sim::Where::here()) {
    internal::multiply_add("FusedMulAdd", dst, src0, src1, internal::count_mask<true>(count), 1, nullptr,
                           where, internal::FusedMulAddOp{});
}

template <class T, bool isSetMask = true>
void FusedMulAdd(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                 const uint64_t mask[], internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
                 sim::Where where = sim::Where::here()) {
    internal::multiply_add("FusedMulAdd", dst, src0, src1, internal::bits_mask<T, isSetMask>(mask),
                           repeatTime, &repeatParams, where, internal::FusedMulAddOp{});
}

template <class T, bool isSetMask = true>
void FusedMulAdd(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                 uint64_t mask, internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
                 sim::Where where = sim::Where::here()) {
    internal::multiply_add("FusedMulAdd", dst, src0, src1, internal::lanes_mask<isSetMask>(mask), repeatTime,
                           &repeatParams, where, internal::FusedMulAddOp{});
}

// dst = max(src0 * dst + src1, 0)
template <class T>
void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                     int32_t count, sim::Where where = sim::Where::here()) {
    internal::multiply_add("FusedMulAddRelu", dst, src0, src1, internal::count_mask<true>(count), 1, nullptr,
                           where, internal::FusedMulAddReluOp{});
}

template <class T, bool isSetMask = true>
void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                     const uint64_t mask[], internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
                     sim::Where where = sim::Where::here()) {
    internal::multiply_add("FusedMulAddRelu", dst, src0, src1, internal::bits_mask<T, isSetMask>(mask),
                           repeatTime, &repeatParams, where, internal::FusedMulAddReluOp{});
}

template <class T, bool isSetMask = true>
void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                     uint64_t mask, internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
                     sim::Where where = sim::Where::here()) {
    internal::multiply_add("FusedMulAddRelu", dst, src0, src1, internal::lanes_mask<isSetMask>(mask),
                           repeatTime, &repeatParams, where, internal::FusedMulAddReluOp{});
}

}  // namespace AscendC
