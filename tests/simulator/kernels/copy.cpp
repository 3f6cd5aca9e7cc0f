// SPDX-License-Identifier: Apache-2.0
// copy.cpp - the smallest kernels: each vector core copies its share, with and without the flags it needs.
#include <exception>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t TILE = 256;  // int32

// Copies tile number GetBlockIdx() through UB.
template <bool SYNCHRONISED>
__aicore__ inline void copy_tile(GM_ADDR x, GM_ADDR y) {
    GlobalTensor<int32_t> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x) + GetBlockIdx() * TILE, TILE);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y) + GetBlockIdx() * TILE, TILE);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, TILE * sizeof(int32_t));
    LocalTensor<int32_t> tile = buffer.Get<int32_t>();
    DataCopy(tile, from, TILE);
    if (SYNCHRONISED) {
        SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    }
    DataCopy(to, tile, TILE);
}

}  // namespace

extern "C" __global__ __aicore__ void copy_synchronised(GM_ADDR x, GM_ADDR y) { copy_tile<true>(x, y); }

extern "C" __global__ __aicore__ void copy_unsynchronised(GM_ADDR x, GM_ADDR y) { copy_tile<false>(x, y); }

extern "C" __global__ __aicore__ void nothing(GM_ADDR x) {}

extern "C" __global__ __aicore__ void waits_for_ever(GM_ADDR x) { CrossCoreWaitFlag(0); }

extern "C" __global__ __aicore__ void throws_its_own(GM_ADDR x) {
    struct Error : std::exception {
        const char* what() const noexcept override { return "its own"; }
    };
    throw Error();
}

extern "C" __global__ __aicore__ void throws_a_number(GM_ADDR x) { throw 1; }
