// SPDX-License-Identifier: Apache-2.0
// vec_fill.h - Duplicate: one value in every lane. CreateVecIndex and ArithProgression: ramps, which the
// scalar unit begins (the first datablock) and additions continue.
#pragma once
#include "ascendc/tpipe.h"
#include "ascendc/vec_arithmetic.h"

namespace AscendC {

namespace internal {

template <class T>
void duplicate(const LocalTensor<T>& dst, T value, const Mask& mask, U8 repeats, const U16& block_stride,
               const U8& repeat_stride, sim::Where where) {
    static_assert(is_one_of<T, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>,
                  "Duplicate fills 16- and 32-bit lanes");
    VectorCall call("Duplicate", where);
    const Operand d = call.operand("dst", dst, block_stride, repeat_stride);
    call.activate(mask, repeats, lanes_of<T>());
    call.writes(d);
    call.dispatch_pieces(sizeof(T), std::array{d},
                         [value](uint8_t* ub, const auto& at, uint32_t, uint32_t count) {
                             for (uint32_t i = 0; i < count; ++i) store<T>(ub + at[0], i, value);
                         });
}

// A flag from the scalar unit with an id that TPipe has free, set and awaited at once.
inline void fence(HardEvent event, const char* api, sim::Where where) {
    TPipe* pipe = GetTPipePtr();
    if (pipe == nullptr) {
        sim::Core::current().report(
            sim::Check::SYNCCHECK, where,
            std::string(api) + " takes event ids from a TPipe: construct one in the kernel.");
        return;
    }
    where.implied = true;
    const TEventID id = pipe->FetchEventID(event, where);
    set_flag(event, id, where);
    wait_flag(event, id, where);
}

// first, first + step, ...: a datablock by the scalar unit, then a datablock per addition up to 256 bytes,
// then 256 bytes per addition. `whole_blocks`: the last addition fills its datablock.
template <class T>
void ramp(const char* api, const LocalTensor<T>& dst, T first, T step, uint32_t count, bool whole_blocks,
          sim::Where where) {
    static_assert(is_one_of<T, int16_t, half, int32_t, float>, "ramps are int16_t, half, int32_t or float");
    using Step = std::conditional_t<std::is_integral_v<T>, int64_t, float>;
    constexpr uint32_t block = ONE_BLK_SIZE / sizeof(T);
    constexpr uint32_t repeat = ONE_REPEAT_BYTE_SIZE / sizeof(T);
    for (uint32_t i = 0; i < std::min(count, block); ++i) {
        dst.SetValue(i, static_cast<T>(Step(first) + Step(step) * static_cast<Step>(i)), where);
    }
    fence(HardEvent::S_V, api, where);
    where.implied = true;
    for (uint32_t done = block; done < count;) {
        const uint32_t chunk = done < repeat ? block : repeat;
        uint32_t lanes = std::min(chunk, count - done);
        if (whole_blocks) lanes = (lanes + block - 1) / block * block;
        Adds(dst[done], dst[done - chunk], static_cast<T>(Step(step) * static_cast<Step>(chunk)), lanes, 1,
             UNIT_UNARY, where);
        internal::pipe_barrier(PIPE_V, where);
        done += chunk;
    }
    ResetMask();
}

}  // namespace internal

template <class T>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, int32_t count,
               sim::Where where = sim::Where::here()) {
    internal::duplicate(dst, scalarValue, internal::count_mask<true>(count), 1, 1, DEFAULT_REPEAT_STRIDE,
                        where);
}

template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const uint64_t mask[],
               internal::U8 repeatTime, internal::U16 dstBlockStride, internal::U8 dstRepeatStride,
               sim::Where where = sim::Where::here()) {
    internal::duplicate(dst, scalarValue, internal::bits_mask<T, isSetMask>(mask), repeatTime, dstBlockStride,
                        dstRepeatStride, where);
}

template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask, internal::U8 repeatTime,
               internal::U16 dstBlockStride, internal::U8 dstRepeatStride,
               sim::Where where = sim::Where::here()) {
    internal::duplicate(dst, scalarValue, internal::lanes_mask<isSetMask>(mask), repeatTime, dstBlockStride,
                        dstRepeatStride, where);
}

template <class T>
void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t count,
                    sim::Where where = sim::Where::here()) {
    internal::ramp("CreateVecIndex", dst, firstValue, static_cast<T>(1), count, false, where);
}

template <class T>
void ArithProgression(const LocalTensor<T>& dst, const T firstValue, const T diffValue, int32_t count,
                      sim::Where where = sim::Where::here()) {
    const bool by_scalar_only = static_cast<uint32_t>(count) <= ONE_BLK_SIZE / sizeof(T);
    if (by_scalar_only) internal::fence(HardEvent::V_S, "ArithProgression", where);
    internal::ramp("ArithProgression", dst, firstValue, diffValue, static_cast<uint32_t>(count), true, where);
}

}  // namespace AscendC
