// SPDX-License-Identifier: Apache-2.0
// vec_copy.h - Copy: lanes from UB to UB. Brcb: eight elements, each into a datablock of its own.
#pragma once
#include "ascendc/vec_elementwise.h"
#include "ascendc/vec_move.h"

namespace AscendC {

namespace internal {

template <class T>
constexpr bool is_movable = is_one_of<T, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>;

// In counter mode the mask is the number of elements of each repeat, unlike with arithmetic.
inline LanePlan copy_plan(CallCheck& call, const Mask& mask, U8 repeats, uint32_t lanes) {
    mask.set(call);
    const sim::Registers& registers = sim::Core::current().registers();
    if (!registers.mask_counter_mode) return LanePlan::of_registers(lanes, uint8_t{repeats}, registers);
    constexpr uint64_t MOST = 1 << 20;
    call.range("the number of elements per repeat in counter mode", registers.mask[0], 0, MOST);
    if (!call.ok() || registers.mask[0] == 0) return {};
    const uint32_t per_repeat = static_cast<uint32_t>(registers.mask[0]);
    return LanePlan::of_count(per_repeat, uint64_t{per_repeat} * uint8_t{repeats});
}

template <class T>
void copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Mask& mask, U8 repeats,
          const CopyRepeatParams& strides, sim::Where where) {
    static_assert(is_movable<T>, "Copy moves 16- and 32-bit lanes");
    constexpr uint64_t MAX_REPEAT_STRIDE = 4095;
    VectorCall call("Copy", where);
    const Operand d = call.operand("dst", dst, strides.dstStride, strides.dstRepeatSize);
    const Operand s = call.operand("src", src, strides.srcStride, strides.srcRepeatSize);
    call.range("dstRepeatSize", uint16_t{strides.dstRepeatSize}, 0, MAX_REPEAT_STRIDE);
    call.range("srcRepeatSize", uint16_t{strides.srcRepeatSize}, 0, MAX_REPEAT_STRIDE);
    repeats.check(call, "repeatTime");
    call.activate(copy_plan(call, mask, repeats, lanes_of<T>()));
    call.may_overlap(d, "src", s);
    call.uses(sim::Use::READ_MOVE, s);
    call.uses(sim::Use::WRITE_MOVE, d);
    if (!call.goes_on()) return;
    call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), d, s] {
        const UbMove ub(*core);
        for_each_piece(plan, std::array{d, s},
                       [&](const std::array<uint64_t, 2>& at, uint32_t, uint32_t count) {
                           ub.copy(at[0], at[1], count * sizeof(T));
                       });
    });
}

}  // namespace internal

template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
          internal::U8 repeatTime, const CopyRepeatParams& repeatParams,
          sim::Where where = sim::Where::here()) {
    internal::copy(dst, src, internal::bits_mask<T, isSetMask>(mask), repeatTime, repeatParams, where);
}

template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, internal::U8 repeatTime,
          const CopyRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {
    internal::copy(dst, src, internal::lanes_mask<isSetMask>(mask), repeatTime, repeatParams, where);
}

// Reads 8 elements per repeat, without gaps; writes 8 datablocks with strides. The mask is not used.
template <class T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeatTime,
          const BrcbRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {
    static_assert(internal::is_movable<T>, "Brcb broadcasts 16- and 32-bit elements");
    constexpr uint32_t PER_REPEAT = 8;
    internal::VectorCall call("Brcb", where);
    const internal::Operand d =
        call.operand("dst", dst, repeatParams.dstBlkStride, repeatParams.dstRepStride);
    call.check_place("src", src, ONE_BLK_SIZE);
    repeatTime.check(call, "repeatTime");
    const uint32_t repeats = uint8_t{repeatTime};
    call.activate(
        internal::LanePlan::of_count(internal::lanes_of<T>(), uint64_t{internal::lanes_of<T>()} * repeats));
    if (!call.goes_on()) return;
    const uint64_t from = src.sim_begin();
    const uint64_t bytes = uint64_t{PER_REPEAT} * repeats * sizeof(T);
    call.apart("dst", call.range_of(d), "src", {from, from + bytes});
    if (d.block_stride == 0) call.fail("dstBlkStride is 0, which is undefined");
    call.uses(sim::Use::READ_MOVE, sim::Span::run(from, bytes));
    call.uses(sim::Use::WRITE_MOVE, d);
    call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), d, from] {
        const internal::UbMove ub(*core);
        constexpr uint32_t per_block = ONE_BLK_SIZE / sizeof(T);
        internal::for_each_lane(plan, std::array{d}, [&](const auto& at, uint32_t repeat, uint32_t lane) {
            ub.copy(at[0], from + (repeat * PER_REPEAT + lane / per_block) * sizeof(T), sizeof(T));
        });
    });
}

}  // namespace AscendC
