// SPDX-License-Identifier: Apache-2.0
// detectors.cpp - small kernels with exactly one fault each, and the same kernels without it.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t TILE = 256;  // floats
constexpr int32_t TILES = 4;    // of one vector core
constexpr uint32_t SLOTS = 2;

enum class Fault {
    NONE,
    NO_LOAD_FLAG,       // vectors do not wait for the load
    NO_STORE_FLAG,      // the store does not wait for the vectors
    NO_REUSE_FLAG,      // the next load does not wait for the store of the slot
    NO_BARRIER,         // dependent vector instructions without a barrier
    NO_WAIT,            // a flag is set and never waited for
    NO_SET,             // a flag is waited for and never set
    RESERVED_ID,        // event id 6
    SET_TWICE,          // a flag is set again before the wait
    GM_OUT_OF_BOUNDS,   // the load runs past the input
    UB_OUT_OF_BOUNDS,   // a vector instruction runs past the unified buffer
    MISALIGNED,         // a DMA to an address that is not a multiple of 32
    UNDEFINED_OPERAND,  // a vector instruction reads what nobody wrote
    UNDEFINED_OUTPUT,   // bytes that nobody wrote are stored
    WRITES_INPUT,       // the store goes to the input
    SCALAR_TOO_EARLY,   // GetValue of a result that the vector unit may not have written
};

// y = 2 x + 1, tile by tile through two slots.
template <Fault fault>
class Scale {
public:
    __aicore__ Scale(GM_ADDR x, GM_ADDR y) {
        const uint32_t floats = TILE * TILES;
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + GetBlockIdx() * floats, floats);
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y) + GetBlockIdx() * floats, floats);
        pipe_.InitBuffer(buffer_, SLOTS * TILE * sizeof(float));
        all_ = buffer_.template Get<float>();
    }

    __aicore__ void run() {
        for (int32_t t = 0; t < TILES; ++t) tile(t);
        if constexpr (fault != Fault::NO_REUSE_FLAG) {
            for (int32_t slot = 0; slot < static_cast<int32_t>(SLOTS); ++slot) {
                WaitFlag<HardEvent::MTE3_MTE2>(slot);
            }
        }
    }

private:
    __aicore__ void tile(int32_t t) {
        const int32_t slot = t % static_cast<int32_t>(SLOTS);
        const LocalTensor<float> ub = all_[slot * TILE];
        if constexpr (fault != Fault::NO_REUSE_FLAG) {
            if (t >= static_cast<int32_t>(SLOTS)) WaitFlag<HardEvent::MTE3_MTE2>(slot);
        }
        load(ub, t);
        if constexpr (fault != Fault::NO_LOAD_FLAG) {
            if constexpr (fault != Fault::NO_SET) SetFlag<HardEvent::MTE2_V>(id(slot));
            if constexpr (fault != Fault::NO_WAIT) WaitFlag<HardEvent::MTE2_V>(id(slot));
        }
        compute(ub);
        if constexpr (fault != Fault::NO_STORE_FLAG) {
            SetFlag<HardEvent::V_MTE3>(slot);
            WaitFlag<HardEvent::V_MTE3>(slot);
        }
        DataCopy(fault == Fault::WRITES_INPUT ? x_[t * TILE] : y_[t * TILE], ub, TILE);
        if constexpr (fault != Fault::NO_REUSE_FLAG) SetFlag<HardEvent::MTE3_MTE2>(slot);
    }

    static __aicore__ int32_t id(int32_t slot) { return fault == Fault::RESERVED_ID ? 6 + slot : slot; }

    __aicore__ void load(const LocalTensor<float>& ub, int32_t t) {
        if constexpr (fault == Fault::UNDEFINED_OPERAND || fault == Fault::UNDEFINED_OUTPUT) {
            DataCopy(ub, x_[t * TILE], TILE - 8);
        } else if constexpr (fault == Fault::GM_OUT_OF_BOUNDS) {
            const bool last = GetBlockIdx() == 2 * GetBlockNum() - 1 && t == TILES - 1;
            DataCopy(ub, x_[t * TILE + (last ? 8 : 0)], TILE);
        } else if constexpr (fault == Fault::MISALIGNED) {
            DataCopy(ub[1], x_[t * TILE], TILE - 8);
        } else {
            DataCopy(ub, x_[t * TILE], TILE);
        }
        if constexpr (fault == Fault::SET_TWICE) {
            SetFlag<HardEvent::MTE2_V>(5);
            SetFlag<HardEvent::MTE2_V>(5);
            WaitFlag<HardEvent::MTE2_V>(5);
        }
    }

    __aicore__ void compute(const LocalTensor<float>& ub) {
        if constexpr (fault == Fault::UNDEFINED_OUTPUT) return;
        const uint32_t count = fault == Fault::UB_OUT_OF_BOUNDS ? 48 * 1024 : TILE;
        Muls(ub, ub, 2.0F, count);
        if constexpr (fault != Fault::NO_BARRIER) PipeBarrier<PIPE_V>();
        Adds(ub, ub, fault == Fault::SCALAR_TOO_EARLY ? ub.GetValue(0) : 1.0F, TILE);
    }

    TPipe pipe_;
    TBuf<TPosition::VECCALC> buffer_;
    GlobalTensor<float> x_, y_;
    LocalTensor<float> all_;
};

// Vector core i writes a line of the workspace, core i + 1 reads it.
template <bool synchronised, bool one_stays_away>
__aicore__ void neighbours(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    if ASCEND_IS_AIC {
        return;
    }
    const uint32_t cores = GetBlockNum() * 2, me = GetBlockIdx();
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, TILE * sizeof(float));
    const LocalTensor<float> ub = buffer.Get<float>();
    GlobalTensor<float> gm_x, gm_y, ws;
    gm_x.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), cores * TILE);
    gm_y.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), cores * TILE);
    ws.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace), cores * TILE);
    DataCopy(ub, gm_x[me * TILE], TILE);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(ws[me * TILE], ub, TILE);
    if constexpr (synchronised) {
        if (!(one_stays_away && me == 1)) SyncAll<true>();
    } else {
        SetFlag<HardEvent::MTE3_MTE2>(0);
        WaitFlag<HardEvent::MTE3_MTE2>(0);
    }
    DataCopy(ub, ws[(me + 1) % cores * TILE], TILE);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(gm_y[me * TILE], ub, TILE);
}

// The vector cores of a pair hand tiles to each other through mode 1, `sets` times without a wait.
template <int32_t sets, bool both>
__aicore__ void pair_flags() {
    if ASCEND_IS_AIC {
        return;
    }
    for (int32_t i = 0; i < sets; ++i) {
        if (both || GetSubBlockIdx() == 0) CrossCoreSetFlag<1, PIPE_MTE3>(3);
    }
    for (int32_t i = 0; i < sets; ++i) {
        if (both) CrossCoreWaitFlag(3);
    }
}

// Core 0 changes a word with the scalar unit that core 1 has already read.
template <bool invalidate>
__aicore__ void stale_word(GM_ADDR words, GM_ADDR seen) {
    if ASCEND_IS_AIC {
        return;
    }
    GlobalTensor<int32_t> gm, out;
    gm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(words), 16);
    out.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(seen), 16 * 2 * GetBlockNum());
    const int32_t before = GetBlockIdx() == 1 ? gm.GetValue(0) : 0;
    SyncAll<true>();
    if (GetBlockIdx() == 0) {
        gm.SetValue(0, 7);
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(gm);
    }
    SyncAll<true>();
    if (GetBlockIdx() != 1) return;
    if constexpr (invalidate) {
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(gm);
    }
    out.SetValue(16, before + gm.GetValue(0));
}

}  // namespace

#define SCALE(name, fault)                                                     \
    extern "C" __global__ __aicore__ void scale_##name(GM_ADDR x, GM_ADDR y) { \
        if ASCEND_IS_AIV {                                                     \
            Scale<Fault::fault>(x, y).run();                                   \
        }                                                                      \
    }

SCALE(none, NONE)
SCALE(no_load_flag, NO_LOAD_FLAG)
SCALE(no_store_flag, NO_STORE_FLAG)
SCALE(no_reuse_flag, NO_REUSE_FLAG)
SCALE(no_barrier, NO_BARRIER)
SCALE(no_wait, NO_WAIT)
SCALE(no_set, NO_SET)
SCALE(reserved_id, RESERVED_ID)
SCALE(set_twice, SET_TWICE)
SCALE(gm_out_of_bounds, GM_OUT_OF_BOUNDS)
SCALE(ub_out_of_bounds, UB_OUT_OF_BOUNDS)
SCALE(misaligned, MISALIGNED)
SCALE(undefined_operand, UNDEFINED_OPERAND)
SCALE(undefined_output, UNDEFINED_OUTPUT)
SCALE(writes_input, WRITES_INPUT)
SCALE(scalar_too_early, SCALAR_TOO_EARLY)

extern "C" __global__ __aicore__ void neighbours_synchronised(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    neighbours<true, false>(x, y, workspace);
}
extern "C" __global__ __aicore__ void neighbours_unordered(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    neighbours<false, false>(x, y, workspace);
}
extern "C" __global__ __aicore__ void neighbours_one_away(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    neighbours<true, true>(x, y, workspace);
}

extern "C" __global__ __aicore__ void pair_in_step(GM_ADDR) { pair_flags<4, true>(); }
extern "C" __global__ __aicore__ void pair_too_many(GM_ADDR) { pair_flags<16, true>(); }
extern "C" __global__ __aicore__ void pair_one_sided(GM_ADDR) { pair_flags<1, false>(); }

extern "C" __global__ __aicore__ void fresh_word(GM_ADDR words, GM_ADDR seen) {
    stale_word<true>(words, seen);
}
extern "C" __global__ __aicore__ void old_word(GM_ADDR words, GM_ADDR seen) {
    stale_word<false>(words, seen);
}

// Neighbouring words of one cache line, written by different cores through their caches.
extern "C" __global__ __aicore__ void shared_line(GM_ADDR words) {
    if ASCEND_IS_AIC {
        return;
    }
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(words), 16);
    gm.SetValue(GetBlockIdx(), 1);
}

// More loads wait for a flag than the queue holds, and the flag is set by the scalar unit behind them.
extern "C" __global__ __aicore__ void full_queue(GM_ADDR x) {
    if ASCEND_IS_AIC {
        return;
    }
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 64 * 32);
    const LocalTensor<float> ub = buffer.Get<float>();
    GlobalTensor<float> gm;
    gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 8);
    WaitFlag<HardEvent::S_MTE2>(0);
    for (uint32_t i = 0; i < 64; ++i) DataCopy(ub[i * 8], gm, 8);
    SetFlag<HardEvent::S_MTE2>(0);
}
