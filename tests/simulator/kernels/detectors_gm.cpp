// SPDX-License-Identifier: Apache-2.0
// detectors_gm.cpp - what cores owe each other in global memory: neighbouring bytes, atomic sums, flags in a
// ring, and the scalar unit's cache.
#include "parameters.h"

namespace {

constexpr uint32_t FLOATS = 8;

// A buffer of ones, ready to be stored.
template <class T>
LocalTensor<T> ones(TPipe& pipe, TBuf<TPosition::VECCALC>& buffer) {
    pipe.InitBuffer(buffer, 2 * FLOATS * sizeof(float));
    const LocalTensor<T> ub = buffer.Get<T>();
    Duplicate(ub, T(1.0F), FLOATS);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    return ub;
}

__aicore__ void store_loaded(const GlobalTensor<float>& y, const GlobalTensor<float>& x,
                             const LocalTensor<float>& ub) {
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    DataCopy(ub, x, FLOATS);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(y, ub, FLOATS);
}

}  // namespace

// Vector core i stores the three halves of number 3 i, or of 3 i and one of its neighbour.
ENTRY bytes_apart(GM_ADDR y, int64_t halves) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    const LocalTensor<half> ub = ones<half>(pipe, buffer);
    DataCopyPad(gm<half>(y)[GetBlockIdx() * 3], ub, {1, static_cast<uint32_t>(halves * 2), 0, 0, 0});
}

// All cores add to one row. Core 1 reads it after `everybody`, or after itself and core 0 only.
ENTRY read_of_a_sum(GM_ADDR sum, GM_ADDR y, int64_t everybody) {
    if ASCEND_IS_AIC {
        return;
    }
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    const LocalTensor<float> ub = ones<float>(pipe, buffer);
    SetAtomicAdd<float>();
    DataCopy(gm<float>(sum), ub, FLOATS);
    SetAtomicNone();
    if (everybody != 0) {
        CrossCoreSetFlag<0, PIPE_MTE3>(1);
    } else {
        CrossCoreSetFlag<1, PIPE_MTE3>(1);
    }
    CrossCoreWaitFlag(1);
    if (GetBlockIdx() == 1) store_loaded(gm<float>(y), gm<float>(sum), ub);
}

// Core 0 clears a row that all add to; its pair waits for that, or `everybody` does.
ENTRY sum_on_a_cleared_row(GM_ADDR sum, int64_t everybody) {
    if ASCEND_IS_AIC {
        return;
    }
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    const LocalTensor<float> ub = ones<float>(pipe, buffer);
    SetAtomicNone();
    if (GetBlockIdx() == 0) DataCopy(gm<float>(sum), ub, FLOATS);
    if (everybody != 0) {
        CrossCoreSetFlag<0, PIPE_MTE3>(1);
    } else {
        CrossCoreSetFlag<1, PIPE_MTE3>(1);
    }
    CrossCoreWaitFlag(1);
    if (GetBlockIdx() == 0) PipeBarrier<PIPE_MTE3>();
    SetAtomicAdd<float>();
    DataCopy(gm<float>(sum), ub, FLOATS);
    SetAtomicNone();
}

// The cube core runs `ahead` sets ahead of its vector cores, which answer each: at most 15 are allowed.
ENTRY ring(GM_ADDR, int64_t ahead) {
    constexpr int32_t ROUNDS = 60;
    constexpr uint16_t FULL = 1, EMPTY = 2;
    if ASCEND_IS_AIC {
        for (int32_t i = 0; i < ROUNDS; ++i) {
            if (i >= ahead) CrossCoreWaitFlag(EMPTY);
            CrossCoreSetFlag<2, PIPE_FIX>(FULL);
        }
        for (int64_t i = 0; i < ahead; ++i) CrossCoreWaitFlag(EMPTY);
    } else {
        for (int32_t i = 0; i < ROUNDS; ++i) {
            CrossCoreWaitFlag(FULL);
            CrossCoreSetFlag<2, PIPE_MTE2>(EMPTY);
        }
    }
}

// The scalar unit itself sets the flag.
ENTRY set_by_the_scalar_unit(GM_ADDR) {
    if ASCEND_IS_AIC {
        return;
    }
    CrossCoreSetFlag<1, PIPE_S>(1);
    CrossCoreWaitFlag(1);
}
