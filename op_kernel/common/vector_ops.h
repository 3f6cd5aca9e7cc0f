// SPDX-License-Identifier: Apache-2.0
// vector_ops.h - idioms of the vector unit on fp32 rows. Unless it says otherwise a function orders itself
// behind earlier vector instructions: what it reads is there.
#pragma once
#include "common/tensors.h"
#include "sals/arch.h"

namespace sals {

inline constexpr int32_t F32_LANES = AtlasA2::REPEAT_BYTES / sizeof(float);
inline constexpr int32_t F32_DATABLOCK = AtlasA2::DATABLOCK_BYTES / sizeof(float);

SALS_DEVICE int32_t round_up(int32_t value, int32_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

SALS_DEVICE int32_t round_down(int32_t value, int32_t multiple) { return value / multiple * multiple; }

// The scalar unit waits until the vector unit has finished all it was given. Whatever is dispatched later, on
// any pipe, comes after that too.
SALS_DEVICE void finish_vector(int32_t event) {
    AscendC::SetFlag<AscendC::HardEvent::V_S>(event);
    AscendC::WaitFlag<AscendC::HardEvent::V_S>(event);
}

// out[i] = src[i] for the bits that are set in mask, packed; returns how many. dst beyond them is undefined.
template <class T>
SALS_DEVICE int32_t gather(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                           const AscendC::LocalTensor<uint8_t>& mask, int32_t count, int32_t event) {
    AscendC::GatherMaskParams whole;  // one repeat of `count` elements
    whole.src0BlockStride = 1;
    whole.repeatTimes = 1;
    whole.src0RepeatStride = 0;
    whole.src1RepeatStride = 0;
    uint64_t unsettled = 0;  // read before the vector unit has finished
    AscendC::PipeBarrier<PIPE_V>();
    GatherMask(dst, src, mask.template ReinterpretCast<uint32_t>(), true, count, whole, unsettled);
    finish_vector(event);
    return static_cast<int32_t>(AscendC::GetGatherMaskRemainCount());
}

// Bits of x[i] <mode> bound. Writes whole bytes of 64 lanes: mask and x reach up to the next 64.
SALS_DEVICE void compare(const AscendC::LocalTensor<uint8_t>& mask, const AscendC::LocalTensor<float>& x,
                         float bound, AscendC::CMPMODE mode, int32_t count) {
    AscendC::PipeBarrier<PIPE_V>();
    CompareScalar(mask, x, bound, mode, static_cast<uint32_t>(round_up(count, F32_LANES)));
}

// No earlier vector instruction may still use dst: this one does not wait.
template <class T>
SALS_DEVICE void fill(const AscendC::LocalTensor<T>& dst, T value, int32_t count) {
    Duplicate(dst, value, count);
}

// The lanes from `begin` up to the end of its datablock. No earlier vector instruction may still use
// them: this one does not wait.
SALS_DEVICE void fill_datablock_end(const AscendC::LocalTensor<float>& dst, float value, int32_t begin) {
    const int32_t lane = begin % F32_DATABLOCK;
    if (lane == 0) return;
    uint64_t lanes[2] = {((uint64_t{1} << F32_DATABLOCK) - 1) & ~((uint64_t{1} << lane) - 1), 0};
    Duplicate(dst[begin - lane], value, lanes, 1, 1, F32_DATABLOCK);
}

}  // namespace sals
