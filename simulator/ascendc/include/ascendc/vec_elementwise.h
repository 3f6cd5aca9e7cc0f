// SPDX-License-Identifier: Apache-2.0
// vec_elementwise.h - the common shape of instructions that compute each lane from the same lane of their
// sources.
#pragma once
#include <cmath>

#include "ascendc/vec_call.h"

namespace AscendC::internal {

template <class T, class... Allowed>
constexpr bool is_one_of = (std::is_same_v<T, Allowed> || ...);

constexpr UnaryRepeatParams UNIT_UNARY{};
constexpr BinaryRepeatParams UNIT_BINARY{};

// dst = f(src)
template <class T, class F>
void unary(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Mask& mask,
           U8 repeats, const UnaryRepeatParams& strides, sim::Where where, F f) {
    VectorCall call(name, where);
    const Operand d = call.operand("dst", dst, strides.dstBlkStride, strides.dstRepStride);
    const Operand s = call.operand("src", src, strides.srcBlkStride, strides.srcRepStride);
    call.activate(mask, repeats, lanes_of<T>());
    call.may_overlap(d, "src", s);
    call.reads(s);
    call.writes(d);
    call.dispatch_pieces(sizeof(T), std::array{d, s},
                         [f](uint8_t* ub, const auto& at, uint32_t, uint32_t count) {
                             for (uint32_t i = 0; i < count; ++i)
                                 store<T>(ub + at[0], i, f(load<T>(ub + at[1], i)));
                         });
}

enum class Accumulate : bool { NO, YES };  // may dst of a repeat be src1 of the next

// dst = f(src0, src1)
template <class T, class F>
void binary(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, const Mask& mask, U8 repeats, const BinaryRepeatParams& strides,
            sim::Where where, Accumulate accumulate, F f) {
    VectorCall call(name, where);
    const Operand d = call.operand("dst", dst, strides.dstBlkStride, strides.dstRepStride);
    const Operand a = call.operand("src0", src0, strides.src0BlkStride, strides.src0RepStride);
    const Operand b = call.operand("src1", src1, strides.src1BlkStride, strides.src1RepStride);
    call.activate(mask, repeats, lanes_of<T>());
    call.may_overlap(d, "src0", a);
    const bool accumulates =
        accumulate == Accumulate::YES && d.begin == b.begin && (d.repeat_stride == 0 || b.repeat_stride == 0);
    if (!accumulates) call.may_overlap(d, "src1", b);
    call.reads(a);
    call.reads(b);
    call.writes(d);
    call.dispatch_pieces(sizeof(T), std::array{d, a, b},
                         [f](uint8_t* ub, const auto& at, uint32_t, uint32_t count) {
                             for (uint32_t i = 0; i < count; ++i)
                                 store<T>(ub + at[0], i, f(load<T>(ub + at[1], i), load<T>(ub + at[2], i)));
                         });
}

}  // namespace AscendC::internal
