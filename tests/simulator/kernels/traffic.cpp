// SPDX-License-Identifier: Apache-2.0
// traffic.cpp - one core reads pieces of GM, several times, and writes a run of bytes, through the L2 or past
// it.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void traffic(GM_ADDR x, GM_ADDR y, int64_t pieces, int64_t piece_bytes,
                                              int64_t stride, int64_t passes, int64_t written,
                                              int64_t past_l2) {
    constexpr uint32_t UB = 128 * 1024;
    GlobalTensor<int8_t> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(x));
    to.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(y));
    if (past_l2 != 0) {
        from.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
        to.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    }
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, UB);
    const LocalTensor<int8_t> ub = buffer.Get<int8_t>();
    DataCopyExtParams read;
    read.blockCount = static_cast<uint16_t>(pieces);
    read.blockLen = static_cast<uint32_t>(piece_bytes);
    read.srcStride = static_cast<uint32_t>(stride - piece_bytes);
    read.dstStride = 0;
    for (int64_t pass = 0; pass < passes; ++pass) DataCopyPad(ub, from, read, DataCopyPadExtParams<int8_t>{});
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    DataCopyExtParams write;
    write.blockCount = 1;
    write.blockLen = static_cast<uint32_t>(written);
    if (written > 0) DataCopyPad(to, ub, write);
}
