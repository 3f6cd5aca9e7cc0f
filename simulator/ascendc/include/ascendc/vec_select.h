// SPDX-License-Identifier: Apache-2.0
// vec_select.h - Select: a lane comes from src0 where its bit in selMask is 1, else from src1, which is a
// tensor or a scalar. Mode 0 uses the same bits in every repeat, modes 1 and 2 go on through selMask.
#pragma once
#include "ascendc/vec_elementwise.h"

namespace AscendC {

namespace internal {

template <class T>
struct SelectSource {
    const LocalTensor<T>* tensor;
    T scalar;
};

template <class T, class U>
void select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0,
            const SelectSource<T>& src1, SELMODE mode, const Mask& mask, U8 repeats,
            const BinaryRepeatParams& strides, sim::Where where) {
    static_assert(is_one_of<T, half, float>, "Select takes half and float");
    static_assert(is_one_of<U, uint8_t, uint16_t, uint32_t, uint64_t>,
                  "selMask is bits in unsigned integers");
    constexpr uint32_t lanes = lanes_of<T>();
    VectorCall call("Select", where);
    if ((src1.tensor == nullptr) != (mode == SELMODE::VSEL_TENSOR_SCALAR_MODE)) {
        call.fail("VSEL_TENSOR_SCALAR_MODE goes with a scalar src1, the other modes with a tensor");
    }
    call.check_place("selMask", bits, ONE_BLK_SIZE);
    const Operand d = call.operand("dst", dst, strides.dstBlkStride, strides.dstRepStride);
    const Operand a = call.operand("src0", src0, strides.src0BlkStride, strides.src0RepStride);
    const Operand b =
        src1.tensor ? call.operand("src1", *src1.tensor, strides.src1BlkStride, strides.src1RepStride) : a;
    call.activate(mask, repeats, lanes);
    if (!call.goes_on()) return;
    call.may_overlap(d, "src0", a);
    call.may_overlap(d, "src1", b);
    const bool moves_on = mode != SELMODE::VSEL_CMPMASK_SPR;
    const uint32_t repeat_bytes = (call.plan().last_lane() + 7) / 8;
    const uint32_t full = call.plan().repeats;
    if (moves_on) {
        call.uses(sim::Use::READ, sim::Span::pieces(bits.sim_begin(), repeat_bytes, full, lanes / 8));
        call.uses(sim::Use::READ,
                  sim::Span::run(bits.sim_begin() + uint64_t{full} * lanes / 8, (call.plan().tail + 7) / 8));
    } else {
        call.uses(sim::Use::READ, sim::Span::run(bits.sim_begin(), repeat_bytes));
    }
    call.reads(a);
    if (src1.tensor) call.reads(b);
    call.writes(d);
    const bool is_scalar = src1.tensor == nullptr;
    call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), d, a, b, is_scalar,
                              scalar = src1.scalar, begin = bits.sim_begin(), moves_on] {
        uint8_t* ub = core->memory(sim::Mem::UB).data.data();
        const uint8_t* chosen = ub + begin;
        for_each_lane(plan, std::array{d, a, b},
                      [&](const std::array<uint64_t, 3>& at, uint32_t repeat, uint32_t lane) {
                          const uint64_t bit = lane + (moves_on ? uint64_t{repeat} * lanes : 0);
                          const bool first = (chosen[bit / 8] >> (bit % 8) & 1) != 0;
                          const T other = is_scalar ? scalar : load<T>(ub + at[2], 0);
                          store<T>(ub + at[0], 0, first ? load<T>(ub + at[1], 0) : other);
                      });
    });
}

}  // namespace internal

template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, uint32_t count,
            sim::Where where = sim::Where::here()) {
    internal::select<T>(dst, selMask, src0, {&src1, T{}}, selMode, internal::count_mask<true>(count), 1,
                        internal::UNIT_BINARY, where);
}

template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
            SELMODE selMode, uint32_t count, sim::Where where = sim::Where::here()) {
    internal::select<T>(dst, selMask, src0, {nullptr, src1}, selMode, internal::count_mask<true>(count), 1,
                        internal::UNIT_BINARY, where);
}

template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, const uint64_t mask[], internal::U8 repeatTime,
            const BinaryRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {
    internal::select<T>(dst, selMask, src0, {&src1, T{}}, selMode, internal::bits_mask<T, true>(mask),
                        repeatTime, repeatParams, where);
}

template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, uint64_t mask, internal::U8 repeatTime,
            const BinaryRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {
    internal::select<T>(dst, selMask, src0, {&src1, T{}}, selMode, internal::lanes_mask<true>(mask),
                        repeatTime, repeatParams, where);
}

template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
            SELMODE selMode, const uint64_t mask[], internal::U8 repeatTime,
            const BinaryRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {
    internal::select<T>(dst, selMask, src0, {nullptr, src1}, selMode, internal::bits_mask<T, true>(mask),
                        repeatTime, repeatParams, where);
}

template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
            SELMODE selMode, uint64_t mask, internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
            sim::Where where = sim::Where::here()) {
    internal::select<T>(dst, selMask, src0, {nullptr, src1}, selMode, internal::lanes_mask<true>(mask),
                        repeatTime, repeatParams, where);
}

}  // namespace AscendC
