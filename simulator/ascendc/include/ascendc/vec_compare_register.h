// SPDX-License-Identifier: Apache-2.0
// vec_compare_register.h - the compare register: 128 bits that Compare without a destination or SetCmpMask
// fill, and that GetCmpMask and Select without a mask use. What it holds belongs to the mode of Select: the
// bits themselves, a scalar, or the offset of the bits in UB.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>

#include "ascendc/compare_register.h"
#include "ascendc/vec_compare.h"
#include "ascendc/vec_select.h"

namespace AscendC {

namespace internal {

// What the register will hold when all that was dispatched has executed.
template <class T>
T compare_register_as(const char* api, sim::Where where) {
    sim::Core& core = sim::Core::current();
    core.settle(sim::Pipe::V, where);
    const CompareRegister& held = compare_register(&core);
    const auto end = held.taint.begin() + sizeof(T);
    if (std::find(held.taint.begin(), end, sim::UNDEFINED) != end) {
        core.report(sim::Check::INITCHECK, where,
                    std::string(api) + " uses bits of the compare register that nothing has defined: set " +
                        "them with Compare or SetCmpMask");
    }
    T value;
    std::memcpy(&value, held.data.data(), sizeof(T));
    return value;
}

constexpr uint32_t COMPARE_REGISTER_ALIGNMENT = 16;

inline void describe_register_move(const char* name, sim::Instruction& instruction, sim::Where where) {
    instruction.pipe = sim::Pipe::V;
    instruction.name = name;  // priced as a repeat of it
    instruction.where = where;
    instruction.work.repeats = 1;
    instruction.work.elem_bytes = 1;
}

template <class T>
void compare_into_register(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
                           const Mask& mask, const BinaryRepeatParams& strides, sim::Where where) {
    static_assert(is_one_of<T, half, float>, "Compare into the register takes half and float");
    VectorCall call("Compare", where);
    const Operand a = call.operand("src0", src0, strides.src0BlkStride, strides.src0RepStride);
    const Operand b = call.operand("src1", src1, strides.src1BlkStride, strides.src1RepStride);
    if (call.core()->registers().mask_counter_mode)
        call.fail("not defined in counter mode: call SetMaskNorm before");
    call.activate(mask, 1, lanes_of<T>());
    call.reads(a);
    call.reads(b);
    if (!call.goes_on()) return;
    call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), a, b, mode] {
        const uint8_t* ub = core->memory(sim::Mem::UB).data.data();
        CompareRegister& result = compare_register(core);
        result.data.fill(0);
        result.taint.fill(sim::DEFINED);
        for_each_lane(plan, std::array{a, b}, [&](const auto& at, uint32_t, uint32_t lane) {
            const bool bit = holds(mode, load<T>(ub + at[0], 0), load<T>(ub + at[1], 0));
            result.data[lane / 8] |= static_cast<uint8_t>(bit << (lane % 8));
        });
    });
}

template <class T>
void select_by_bits(const LocalTensor<T>& dst, const std::array<uint64_t, 2>& bits,
                    const LocalTensor<T>& src0, const LocalTensor<T>& src1, U8 repeats,
                    const BinaryRepeatParams& strides, sim::Where where) {
    static_assert(is_one_of<T, half, float>, "Select takes half and float");
    VectorCall call("Select", where);
    const Operand d = call.operand("dst", dst, strides.dstBlkStride, strides.dstRepStride);
    const Operand a = call.operand("src0", src0, strides.src0BlkStride, strides.src0RepStride);
    const Operand b = call.operand("src1", src1, strides.src1BlkStride, strides.src1RepStride);
    call.activate(Mask::from_registers(), repeats, lanes_of<T>());
    call.may_overlap(d, "src0", a);
    call.may_overlap(d, "src1", b);
    call.reads(a);
    call.reads(b);
    call.writes(d);
    if (!call.goes_on()) return;
    call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), d, a, b, bits] {
        uint8_t* ub = core->memory(sim::Mem::UB).data.data();
        for_each_lane(plan, std::array{d, a, b}, [&](const auto& at, uint32_t, uint32_t lane) {
            const bool first = (bits[lane / 64] >> (lane % 64) & 1) != 0;
            store<T>(ub + at[0], 0, load<T>(ub + at[first ? 1 : 2], 0));
        });
    });
}

}  // namespace internal

// 16 bytes of `src`, defined or not.
template <class T>
void SetCmpMask(const LocalTensor<T>& src, sim::Where where = sim::Where::here()) {
    using internal::CompareRegister;
    internal::VectorCall call("SetCmpMask", where);
    call.check_place("src", src, internal::COMPARE_REGISTER_ALIGNMENT);
    if (!call.ok()) return;
    sim::Instruction instruction;
    internal::describe_register_move("SetCmpMask", instruction, where);
    instruction.accesses = {
        {sim::Mem::UB, sim::Use::READ_MOVE, sim::Span::run(src.sim_begin(), CompareRegister::BYTES)}};
    instruction.run = [core = call.core(), begin = src.sim_begin()] {
        const sim::Memory& ub = core->memory(sim::Mem::UB);
        CompareRegister& target = internal::compare_register(core);
        std::memcpy(target.data.data(), ub.data.data() + begin, CompareRegister::BYTES);
        std::memcpy(target.taint.data(), ub.taint.data() + begin, CompareRegister::BYTES);
    };
    call.core()->issue(std::move(instruction));
}

// The register's 16 bytes. `dst` must have 128 bytes; the others are undefined afterwards.
template <class T>
void GetCmpMask(const LocalTensor<T>& dst, sim::Where where = sim::Where::here()) {
    using internal::CompareRegister;
    constexpr uint32_t SPACE = 128;
    internal::VectorCall call("GetCmpMask", where);
    call.check_place("dst", dst, internal::COMPARE_REGISTER_ALIGNMENT);
    if (!call.ok()) return;
    sim::Instruction instruction;
    internal::describe_register_move("GetCmpMask", instruction, where);
    instruction.accesses = {{sim::Mem::UB, sim::Use::WRITE_MOVE, sim::Span::run(dst.sim_begin(), SPACE)}};
    instruction.run = [core = call.core(), begin = dst.sim_begin()] {
        sim::Memory& ub = core->memory(sim::Mem::UB);
        const CompareRegister& held = internal::compare_register(core);
        std::memcpy(ub.data.data() + begin, held.data.data(), CompareRegister::BYTES);
        std::memset(ub.taint.data() + begin, sim::UNDEFINED, SPACE);
        std::memcpy(ub.taint.data() + begin, held.taint.data(), CompareRegister::BYTES);
    };
    call.core()->issue(std::move(instruction));
}

// One repeat. The bits of lanes that are not active become 0.
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask[],
             const BinaryRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {
    internal::compare_into_register(src0, src1, cmpMode, internal::bits_mask<T, isSetMask>(mask),
                                    repeatParams, where);
}

template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, uint64_t mask,
             const BinaryRepeatParams& repeatParams, sim::Where where = sim::Where::here()) {
    internal::compare_into_register(src0, src1, cmpMode, internal::lanes_mask<isSetMask>(mask), repeatParams,
                                    where);
}

// Mode 0: the register holds the bits, for every repeat. Mode 2: it holds where they begin in UB.
template <class T, SELMODE selMode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
            internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
            sim::Where where = sim::Where::here()) {
    static_assert(selMode != SELMODE::VSEL_TENSOR_SCALAR_MODE,
                  "with a scalar, which the register holds, Select takes selMask and src0");
    if constexpr (selMode == SELMODE::VSEL_CMPMASK_SPR) {
        std::array<uint64_t, 2> bits{};
        if constexpr (sizeof(T) == 2) {
            bits = internal::compare_register_as<std::array<uint64_t, 2>>("Select", where);
        } else {
            bits[0] = internal::compare_register_as<uint64_t>("Select", where);
        }
        internal::select_by_bits(dst, bits, src0, src1, repeatTime, repeatParams, where);
    } else {
        const uint32_t begin = internal::compare_register_as<uint32_t>("Select", where);
        const LocalTensor<uint8_t> bits(TPosition::VECCALC, begin, 0);
        internal::select<T>(dst, bits, src0, {&src1, T{}}, selMode, internal::Mask::from_registers(),
                            repeatTime, repeatParams, where);
    }
}

// Mode 1: the register holds the scalar.
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            internal::U8 repeatTime, const BinaryRepeatParams& repeatParams,
            sim::Where where = sim::Where::here()) {
    const T scalar = internal::compare_register_as<T>("Select", where);
    internal::select<T>(dst, selMask, src0, {nullptr, scalar}, SELMODE::VSEL_TENSOR_SCALAR_MODE,
                        internal::Mask::from_registers(), repeatTime, repeatParams, where);
}

}  // namespace AscendC
