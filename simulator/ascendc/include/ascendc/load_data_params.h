// SPDX-License-Identifier: Apache-2.0
// load_data_params.h - the parameter structures of LoadData and LoadDataWithTranspose.
#pragma once
#include <cstdint>

#include "ascendc/field.h"
#include "ascendc/macros.h"

namespace AscendC {

// repeatTimes fractals of 512 bytes.
struct LoadData2DParams {
    __aicore__ LoadData2DParams() {}
    __aicore__ LoadData2DParams(const internal::U16 start_index, const internal::U8 repeat_times,
                                const internal::U16 src_stride, const uint8_t sid_value,
                                const internal::U16 dst_gap, const bool if_transpose, const uint8_t addr_mode)
        : startIndex(start_index),
          dstGap(dst_gap),
          srcStride(src_stride),
          ifTranspose(if_transpose),
          repeatTimes(repeat_times),
          sid(sid_value),
          addrMode(addr_mode) {}

    internal::U16 startIndex = 0;  // fractals
    internal::U16 dstGap = 0;      // fractals, from the end of one to the start of the next
    internal::U16 srcStride = 0;   // fractals, from start to start
    bool ifTranspose = false;      // each fractal of 16 x 16 on its own
    internal::U8 repeatTimes = 0;
    uint8_t sid = 0;
    uint8_t addrMode = 0;  // 1: the source steps backwards (GM to L1 only)
};
using LoadData2dParams = LoadData2DParams;

// repeatTimes squares: 64 x 64 int4, 32 x 32 of 8 bits, 16 x 16 of 16 or 32 bits.
struct LoadData2dTransposeParams {
    __aicore__ LoadData2dTransposeParams() {}
    __aicore__ LoadData2dTransposeParams(const internal::U16 start_index, const internal::U8 repeat_times,
                                         const internal::U16 src_stride, const internal::U16 dst_gap,
                                         const internal::U16 dst_frac_gap, const uint8_t addr_mode = 0)
        : startIndex(start_index),
          repeatTimes(repeat_times),
          srcStride(src_stride),
          dstGap(dst_gap),
          dstFracGap(dst_frac_gap),
          addrMode(addr_mode) {}

    internal::U16 startIndex = 0;  // squares
    internal::U8 repeatTimes = 0;
    internal::U16 srcStride = 0;  // squares, from start to start
    internal::U16 dstGap =
        0;  // 512 bytes, from the end of a square's first fractal to the next square's first
    internal::U16 dstFracGap = 0;  // 512 bytes, between the fractals of one square
    uint8_t addrMode = 0;          // 0
};

}  // namespace AscendC
