// SPDX-License-Identifier: Apache-2.0
// data_copy_params.h - the parameter structures of DataCopy and DataCopyPad. Field types are as narrow as the
// instructions' fields.
#pragma once
#include <cstdint>

#include "ascendc/field.h"
#include "ascendc/macros.h"

// How L0C values are converted on their way out; the letters after a leading V take one factor per column.
enum QuantMode_t : uint8_t {
    NoQuant,   // float to float, int32 to int32
    F322F16,   // float to half, to nearest even
    F322BF16,  // float to bfloat16, to nearest even
    DEQF16,    // int32 * factor to half
    VDEQF16,
    QF322B8_PRE,  // float * factor + offset to int8 or uint8
    VQF322B8_PRE,
    REQ8,  // int32 * factor + offset to int8 or uint8
    VREQ8
};

namespace AscendC {

using ::QuantMode_t;

// blockCount blocks. DataCopy counts blockLen and gaps in 32 bytes, DataCopyPad counts bytes except for UB
// gaps.
struct DataCopyParams {
    __aicore__ DataCopyParams() {}
    __aicore__ DataCopyParams(const internal::U16 count, const internal::U16 len, const internal::U16 src_gap,
                              const internal::U16 dst_gap)
        : blockCount(count), blockLen(len), srcGap(src_gap), dstGap(dst_gap) {}

    internal::U16 blockCount = 1;
    internal::U16 blockLen = 0;
    union {
        internal::U16 srcGap = 0;
        internal::U16 srcStride;  // older name
    };
    union {
        internal::U16 dstGap = 0;
        internal::U16 dstStride;  // older name
    };
};

struct DataCopyExtParams {
    __aicore__ DataCopyExtParams() {}
    __aicore__ DataCopyExtParams(const internal::U16 count, const uint32_t len, const uint32_t src_stride,
                                 const uint32_t dst_stride, const uint32_t reserved)
        : blockCount(count), blockLen(len), srcStride(src_stride), dstStride(dst_stride), rsv(reserved) {}

    internal::U16 blockCount = 1;
    uint32_t blockLen = 0;   // bytes
    uint32_t srcStride = 1;  // from the end of a block to the next: bytes in GM, 32 bytes in UB
    uint32_t dstStride = 1;
    uint32_t rsv = 0;
};

struct DataCopyPadParams {
    __aicore__ DataCopyPadParams() {}
    __aicore__ DataCopyPadParams(const bool is_pad, const internal::U8 left, const internal::U8 right,
                                 const uint64_t value)
        : isPad(is_pad), leftPadding(left), rightPadding(right), paddingValue(value) {}

    bool isPad = false;
    internal::U8 leftPadding = 0;  // elements
    internal::U8 rightPadding = 0;
    uint64_t paddingValue = 0;  // the element's bits
};

template <typename T>
struct DataCopyPadExtParams {
    __aicore__ DataCopyPadExtParams() {}
    __aicore__ DataCopyPadExtParams(const bool is_pad, const internal::U8 left, const internal::U8 right,
                                    T value)
        : isPad(is_pad), leftPadding(left), rightPadding(right), paddingValue(value) {}

    bool isPad = false;
    internal::U8 leftPadding = 0;  // elements
    internal::U8 rightPadding = 0;
    T paddingValue = 0;
};

// ndNum row-major matrices of nValue x dValue elements become fractals of rows of 32 bytes.
struct Nd2NzParams {
    __aicore__ Nd2NzParams() {}
    __aicore__ Nd2NzParams(const internal::U16 nd_num, const internal::U16 n_value,
                           const internal::U16 d_value, const internal::U16 src_matrix_stride,
                           const internal::U16 src_d_value, const internal::U16 dst_c0_stride,
                           const internal::U16 dst_n_stride, const internal::U16 dst_matrix_stride)
        : ndNum(nd_num),
          nValue(n_value),
          dValue(d_value),
          srcNdMatrixStride(src_matrix_stride),
          srcDValue(src_d_value),
          dstNzC0Stride(dst_c0_stride),
          dstNzNStride(dst_n_stride),
          dstNzMatrixStride(dst_matrix_stride) {}

    internal::U16 ndNum = 0;
    internal::U16 nValue = 0;
    internal::U16 dValue = 0;
    internal::U16 srcNdMatrixStride = 0;  // elements
    internal::U16 srcDValue = 0;          // elements from row to row
    internal::U16 dstNzC0Stride = 0;      // 32 bytes, from a column of fractals to the next
    internal::U16 dstNzNStride = 0;       // 32 bytes, from row to row
    internal::U16 dstNzMatrixStride = 0;  // elements
};

struct DataCopyCO12DstParams {
    __aicore__ DataCopyCO12DstParams() {}
    __aicore__ DataCopyCO12DstParams(const internal::U16 n_size, const internal::U16 m_size,
                                     const uint32_t dst_stride, const internal::U16 src_stride,
                                     const QuantMode_t quant_pre, const uint8_t relu_pre,
                                     const bool channel_split, const bool nz2nd_en)
        : nSize(n_size),
          mSize(m_size),
          dstStride(dst_stride),
          srcStride(src_stride),
          quantPre(quant_pre),
          reluPre(relu_pre),
          channelSplit(channel_split),
          nz2ndEn(nz2nd_en) {}

    uint8_t sid = 0;
    internal::U16 nSize = 0;
    internal::U16 mSize = 0;
    uint32_t dstStride = 1;  // nz2nd: elements of a row of dst; else 32 bytes, between columns of fractals
    internal::U16 srcStride = 1;  // 64 bytes, between columns of fractals
    uint8_t unitFlag = 0;
    uint8_t clipReluPre = 0;
    uint8_t eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint8_t reluPre = 0;
    bool channelSplit = false;
    bool nz2ndEn = false;
};

}  // namespace AscendC
