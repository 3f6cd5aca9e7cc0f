// SPDX-License-Identifier: Apache-2.0
// vec_params.h - strides of vector instructions. A block stride leads from one 32-byte datablock of a repeat
// to the next, a repeat stride from one repeat to the next; both count datablocks.
#pragma once
#include <cstdint>

#include "ascendc/field.h"
#include "ascendc/types.h"

namespace AscendC {

struct UnaryRepeatParams {
    constexpr UnaryRepeatParams() = default;
    constexpr UnaryRepeatParams(internal::U16 dst_block, internal::U16 src_block, internal::U8 dst_repeat,
                                internal::U8 src_repeat)
        : dstBlkStride(dst_block),
          srcBlkStride(src_block),
          dstRepStride(dst_repeat),
          srcRepStride(src_repeat) {}

    uint32_t blockNumber = DEFAULT_BLK_NUM;
    internal::U16 dstBlkStride = DEFAULT_BLK_STRIDE;
    internal::U16 srcBlkStride = DEFAULT_BLK_STRIDE;
    internal::U8 dstRepStride = DEFAULT_REPEAT_STRIDE;
    internal::U8 srcRepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct BinaryRepeatParams {
    constexpr BinaryRepeatParams() = default;
    constexpr BinaryRepeatParams(internal::U8 dst_block, internal::U8 src0_block, internal::U8 src1_block,
                                 internal::U8 dst_repeat, internal::U8 src0_repeat, internal::U8 src1_repeat)
        : dstBlkStride(dst_block),
          src0BlkStride(src0_block),
          src1BlkStride(src1_block),
          dstRepStride(dst_repeat),
          src0RepStride(src0_repeat),
          src1RepStride(src1_repeat) {}

    uint32_t blockNumber = DEFAULT_BLK_NUM;
    internal::U8 dstBlkStride = DEFAULT_BLK_STRIDE;
    internal::U8 src0BlkStride = DEFAULT_BLK_STRIDE;
    internal::U8 src1BlkStride = DEFAULT_BLK_STRIDE;
    internal::U8 dstRepStride = DEFAULT_REPEAT_STRIDE;
    internal::U8 src0RepStride = DEFAULT_REPEAT_STRIDE;
    internal::U8 src1RepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct CopyRepeatParams {
    constexpr CopyRepeatParams() = default;
    constexpr CopyRepeatParams(internal::U16 dst_block, internal::U16 src_block, internal::U16 dst_repeat,
                               internal::U16 src_repeat)
        : dstStride(dst_block), srcStride(src_block), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat) {}

    internal::U16 dstStride = 0;
    internal::U16 srcStride = 0;
    internal::U16 dstRepeatSize = DEFAULT_REPEAT_STRIDE;
    internal::U16 srcRepeatSize = DEFAULT_REPEAT_STRIDE;
};

struct BrcbRepeatParams {
    constexpr BrcbRepeatParams() = default;
    constexpr BrcbRepeatParams(internal::U16 dst_block, internal::U16 dst_repeat)
        : dstRepStride(dst_repeat), dstBlkStride(dst_block) {}

    uint32_t blockNumber = DEFAULT_BLK_NUM;
    internal::U16 dstRepStride = DEFAULT_REPEAT_STRIDE;
    internal::U16 dstBlkStride = DEFAULT_BLK_STRIDE;
};

struct GatherRepeatParams {
    constexpr GatherRepeatParams() = default;
    constexpr GatherRepeatParams(internal::U8 dst_block, internal::U16 dst_repeat)
        : dstRepStride(dst_repeat), dstBlkStride(dst_block) {}

    uint32_t blockNumber = DEFAULT_BLK_NUM;
    internal::U16 dstRepStride = DEFAULT_REPEAT_STRIDE;
    internal::U8 dstBlkStride = DEFAULT_BLK_STRIDE;
};

struct GatherMaskParams {
    constexpr GatherMaskParams() = default;
    constexpr GatherMaskParams(internal::U8 src0_block, internal::U16 repeats, internal::U16 src0_repeat,
                               internal::U8 src1_repeat)
        : src0BlockStride(src0_block),
          repeatTimes(repeats),
          src0RepeatStride(src0_repeat),
          src1RepeatStride(src1_repeat) {}

    internal::U8 src0BlockStride = DEFAULT_BLK_STRIDE;
    internal::U16 repeatTimes = 0;
    internal::U16 src0RepeatStride = DEFAULT_REPEAT_STRIDE;
    internal::U8 src1RepeatStride = DEFAULT_REPEAT_STRIDE;
};

}  // namespace AscendC
