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

// A window of the matrix that a feature map becomes (image to column): mExtension rows from mStartPt on,
// kExtension columns from kStartPt on.
template <typename T>
struct LoadData3DParamsV2 {
    __aicore__ LoadData3DParamsV2() {}
    __aicore__ LoadData3DParamsV2(const uint8_t pads[4], const internal::U16 height,
                                  const internal::U16 width, const internal::U16 channels,
                                  const internal::U16 k_extension, const internal::U16 m_extension,
                                  const internal::U16 k_start, const internal::U16 m_start,
                                  const internal::U8 stride_w, const internal::U8 stride_h,
                                  const internal::U8 filter_w, const internal::U8 filter_h,
                                  const internal::U8 dilation_w, const internal::U8 dilation_h,
                                  const bool transpose, const bool small_k, const T pad,
                                  const bool filter_size_w = false, const bool filter_size_h = false,
                                  const bool f_matrix_ctrl = false)
        : padList{pads[0], pads[1], pads[2], pads[3]},
          l1H(height),
          l1W(width),
          channelSize(channels),
          kExtension(k_extension),
          mExtension(m_extension),
          kStartPt(k_start),
          mStartPt(m_start),
          strideW(stride_w),
          strideH(stride_h),
          filterW(filter_w),
          filterH(filter_h),
          dilationFilterW(dilation_w),
          dilationFilterH(dilation_h),
          enTranspose(transpose),
          enSmallK(small_k),
          padValue(pad),
          filterSizeW(filter_size_w),
          filterSizeH(filter_size_h),
          fMatrixCtrl(f_matrix_ctrl) {}

    uint8_t padList[4] = {0, 0, 0, 0};  // left, right, top, bottom
    internal::U16 l1H = 0;
    internal::U16 l1W = 0;
    internal::U16 channelSize = 0;
    internal::U16 kExtension = 0;
    internal::U16 mExtension = 0;
    internal::U16 kStartPt = 0;
    internal::U16 mStartPt = 0;
    internal::U8 strideW = 1;
    internal::U8 strideH = 1;
    internal::U8 filterW = 1;
    internal::U8 filterH = 1;
    internal::U8 dilationFilterW = 1;
    internal::U8 dilationFilterH = 1;
    bool enTranspose = false;  // L0A; into L0B every load transposes
    bool enSmallK = false;
    T padValue = 0;
    bool filterSizeW = false;
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
};

// Whether LoadData sets the registers that describe the feature map from its parameters.
struct IsResetLoad3dConfig {
    bool isSetFMatrix = true;
    bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

}  // namespace AscendC
