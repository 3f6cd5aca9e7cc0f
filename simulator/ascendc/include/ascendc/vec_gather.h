// SPDX-License-Identifier: Apache-2.0
// vec_gather.h - Gather: every lane from an address of its own. Gatherb: every datablock from one. Addresses
// are byte offsets that stand in UB; they are looked at when the instruction executes.
#pragma once
#include "ascendc/vec_copy.h"

namespace AscendC {

namespace internal {

// Reports addresses that leave src or are not aligned; the lane then stays undefined.
struct GatherSource {
    sim::Core* core;
    const char* name;
    sim::Where where;
    uint64_t begin;  // of src
    uint64_t bytes;  // of src
    uint64_t base;   // added to every offset
    uint32_t unit;   // bytes moved at a time, and their alignment

    bool reaches(uint64_t offset) const {
        const uint64_t at = base + offset;
        if (at % unit == 0 && at + unit <= bytes) return true;
        core->report(sim::Check::MEMCHECK, where,
                     std::string(name) + ": offset " + std::to_string(offset) + " on top of " +
                         std::to_string(base) + " must be a multiple of " + std::to_string(unit) +
                         " and lie in src, which has " + std::to_string(bytes) + " bytes");
        return false;
    }

    void move(const UbMove& ub, uint64_t to, uint64_t offset) const {
        if (reaches(offset)) {
            ub.copy(to, begin + base + offset, unit);
        } else {
            ub.undefine(to, unit);
        }
    }
};

template <class T>
void gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets,
            uint32_t base, const Mask& mask, U8 repeats, const U16& repeat_stride, sim::Where where) {
    static_assert(is_movable<T>, "Gather moves 16- and 32-bit lanes");
    VectorCall call("Gather", where);
    const Operand d = call.operand("dst", dst, U16(1), repeat_stride);
    const Operand o = call.operand("srcOffset", offsets, lanes_of<T>());
    call.check_place("src", src, ONE_BLK_SIZE);
    call.activate(mask, repeats, lanes_of<T>());
    if (!call.goes_on()) return;
    const uint64_t bytes = sim_bytes<T>(src.GetSize());
    call.apart("dst", call.range_of(d), "src", {src.sim_begin(), src.sim_begin() + bytes});
    call.apart("dst", call.range_of(d), "srcOffset", call.range_of(o));
    call.reads(o);
    call.uses(sim::Use::READ_MOVE, sim::Span::run(src.sim_begin(), bytes));
    call.uses(sim::Use::WRITE_MOVE, d);
    const GatherSource source{call.core(), "Gather", where, src.sim_begin(), bytes, base, sizeof(T)};
    call.dispatch(sizeof(T), [source, plan = call.plan(), d, o] {
        const UbMove ub(*source.core);
        for_each_lane(plan, std::array{d, o}, [&](const std::array<uint64_t, 2>& at, uint32_t, uint32_t) {
            source.move(ub, at[0], load<uint32_t>(ub.bytes() + at[1], 0));
        });
    });
}

}  // namespace internal

template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            uint32_t srcBaseAddr, uint32_t count, sim::Where where = sim::Where::here()) {
    internal::gather(dst, src, srcOffset, srcBaseAddr, internal::count_mask<true>(count), 1,
                     DEFAULT_REPEAT_STRIDE, where);
}

template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            uint32_t srcBaseAddr, const uint64_t mask[], internal::U8 repeatTime, internal::U16 dstRepStride,
            sim::Where where = sim::Where::here()) {
    internal::gather(dst, src, srcOffset, srcBaseAddr, internal::bits_mask<T, true>(mask), repeatTime,
                     dstRepStride, where);
}

template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            uint32_t srcBaseAddr, uint64_t mask, internal::U8 repeatTime, internal::U16 dstRepStride,
            sim::Where where = sim::Where::here()) {
    internal::gather(dst, src, srcOffset, srcBaseAddr, internal::lanes_mask<true>(mask), repeatTime,
                     dstRepStride, where);
}

// Eight datablocks per repeat. A block stride of 0 counts as 1.
template <class T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset,
             internal::U8 repeatTime, const GatherRepeatParams& repeatParams,
             sim::Where where = sim::Where::here()) {
    static_assert(internal::is_one_of<T, uint16_t, uint32_t>, "Gatherb takes uint16_t and uint32_t");
    internal::VectorCall call("Gatherb", where);
    internal::Operand d = call.operand("dst", dst, repeatParams.dstBlkStride, repeatParams.dstRepStride);
    if (d.block_stride == 0) d.block_stride = ONE_BLK_SIZE;
    call.check_place("src", src, ONE_BLK_SIZE);
    call.check_place("offset", offset, ONE_BLK_SIZE);
    repeatTime.check(call, "repeatTime");
    const uint32_t repeats = uint8_t{repeatTime};
    const uint32_t lanes = internal::lanes_of<T>();
    ResetMask();
    call.activate(internal::LanePlan::of_count(lanes, uint64_t{lanes} * repeats));
    if (!call.goes_on()) return;
    const uint64_t bytes = sim_bytes<T>(src.GetSize());
    const uint64_t table = offset.sim_begin();
    const uint64_t table_bytes = uint64_t{DEFAULT_BLK_NUM} * sizeof(uint32_t) * repeats;
    call.apart("dst", call.range_of(d), "src", {src.sim_begin(), src.sim_begin() + bytes});
    call.apart("dst", call.range_of(d), "offset", {table, table + table_bytes});
    call.uses(sim::Use::READ, sim::Span::run(table, table_bytes));
    call.uses(sim::Use::READ_MOVE, sim::Span::run(src.sim_begin(), bytes));
    call.uses(sim::Use::WRITE_MOVE, d);
    const internal::GatherSource source{call.core(), "Gatherb", where,       src.sim_begin(),
                                        bytes,       0,         ONE_BLK_SIZE};
    call.dispatch(sizeof(T), [source, d, table, repeats] {
        const internal::UbMove ub(*source.core);
        for (uint32_t i = 0; i < repeats * DEFAULT_BLK_NUM; ++i) {
            const uint32_t block = i % DEFAULT_BLK_NUM;
            const uint64_t to = d.begin + (i / DEFAULT_BLK_NUM) * d.repeat_stride + block * d.block_stride;
            source.move(ub, to, internal::load<uint32_t>(ub.bytes() + table, i));
        }
    });
}

}  // namespace AscendC
