// SPDX-License-Identifier: Apache-2.0
// detectors_cube.cpp - a cube core hands products to its two vector cores through the workspace; one fault
// each.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t SIDE = 16, DEPTH = 32;   // int8 fractal: 16 x 32
constexpr uint32_t FRACTAL = SIDE * DEPTH;  // bytes
constexpr uint32_t PRODUCT = SIDE * SIDE;   // int32
constexpr uint32_t TILES = 6, SLOTS = 2;
constexpr uint16_t FULL = 0, EMPTY = 1;  // cross-core flags, cube to vector and back

enum class Fault {
    NONE,
    NO_FULL,          // the vector cores do not wait for the product
    NO_EMPTY,         // the cube core does not wait until the slot has been read
    ONE_EMPTY,        // only one vector core says so
    NO_L1_FLAG,       // L0 is loaded before L1 is
    NO_L0_FLAG,       // Mmad does not wait for its operands
    NO_L0C_FLAG,      // Fixpipe does not wait for Mmad
    NO_L0C_REUSE,     // the next Mmad does not wait for Fixpipe
    NO_MMAD_BARRIER,  // accumulation on a tile that is too small to be ordered by itself
    UNIT_FLAG,        // none: unitFlag instead of the flags between Mmad and Fixpipe
    UNIT_FLAG_TWICE,  // Fixpipe takes a tile that no Mmad has handed over
    UNIT_FLAG_LEFT,   // the last Fixpipe does not give the tile back
};

template <Fault fault>
class Products {
public:
    __aicore__ Products(GM_ADDR a, GM_ADDR b, GM_ADDR y, GM_ADDR workspace) {
        uint32_t group = GetBlockIdx();
        if ASCEND_IS_AIV {
            group /= 2;
        }
        a_.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(a) + group * TILES * FRACTAL, TILES * FRACTAL);
        b_.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(b), FRACTAL);
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y) + group * TILES * PRODUCT, TILES * PRODUCT);
        ws_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(workspace) + group * SLOTS * PRODUCT,
                            SLOTS * PRODUCT);
    }

    __aicore__ void cube() {
        TPipe pipe;
        TBuf<TPosition::A1> l1;
        TBuf<TPosition::A2> l0a;
        TBuf<TPosition::B2> l0b;
        TBuf<TPosition::CO1> l0c;
        pipe.InitBuffer(l1, 2 * FRACTAL);
        pipe.InitBuffer(l0a, FRACTAL);
        pipe.InitBuffer(l0b, FRACTAL);
        pipe.InitBuffer(l0c, PRODUCT * sizeof(int32_t));
        const auto l1_a = l1.Get<int8_t>(), l1_b = l1.Get<int8_t>()[FRACTAL];
        for (uint32_t t = 0; t < TILES; ++t) {
            if (t > 0) WaitFlag<HardEvent::MTE1_MTE2>(0);
            DataCopy(l1_a, a_[t * FRACTAL], FRACTAL);
            DataCopy(l1_b, b_, FRACTAL);
            if constexpr (fault != Fault::NO_L1_FLAG) {
                SetFlag<HardEvent::MTE2_MTE1>(0);
                WaitFlag<HardEvent::MTE2_MTE1>(0);
            }
            multiply(t, l1_a, l1_b, l0a.Get<int8_t>(), l0b.Get<int8_t>(), l0c.Get<int32_t>());
            if constexpr (fault != Fault::NO_EMPTY) {
                if (t >= SLOTS) CrossCoreWaitFlag(EMPTY);
            }
            store(t, l0c.Get<int32_t>());
        }
        WaitFlag<HardEvent::M_MTE1>(3);
        if constexpr (uses_flags()) {
            if constexpr (fault != Fault::NO_L0C_REUSE) WaitFlag<HardEvent::FIX_M>(0);
        }
        if constexpr (fault != Fault::NO_EMPTY) {
            for (uint32_t i = 0; i < SLOTS; ++i) CrossCoreWaitFlag(EMPTY);
        }
    }

    __aicore__ void vector() {
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        constexpr uint32_t HALF = PRODUCT / 2;
        pipe.InitBuffer(buffer, HALF * sizeof(int32_t));
        const auto ub = buffer.Get<int32_t>();
        const uint32_t part = GetSubBlockIdx() * HALF;
        for (uint32_t t = 0; t < TILES; ++t) {
            if (t > 0) WaitFlag<HardEvent::MTE3_MTE2>(0);
            if constexpr (fault != Fault::NO_FULL) CrossCoreWaitFlag(FULL);
            DataCopy(ub, ws_[t % SLOTS * PRODUCT + part], HALF);
            if constexpr (fault != Fault::NO_EMPTY) {
                if (fault != Fault::ONE_EMPTY || GetSubBlockIdx() == 0) CrossCoreSetFlag<2, PIPE_MTE2>(EMPTY);
            }
            SetFlag<HardEvent::MTE2_MTE3>(0);
            WaitFlag<HardEvent::MTE2_MTE3>(0);
            DataCopy(y_[t * PRODUCT + part], ub, HALF);
            if (t + 1 < TILES) SetFlag<HardEvent::MTE3_MTE2>(0);
        }
    }

private:
    static constexpr bool uses_flags() {
        return fault != Fault::UNIT_FLAG && fault != Fault::UNIT_FLAG_TWICE && fault != Fault::UNIT_FLAG_LEFT;
    }

    // The product twice over, by accumulation.
    __aicore__ void multiply(uint32_t t, const LocalTensor<int8_t>& l1_a, const LocalTensor<int8_t>& l1_b,
                             const LocalTensor<int8_t>& l0a, const LocalTensor<int8_t>& l0b,
                             const LocalTensor<int32_t>& l0c) {
        LoadData2DParams load;
        load.repeatTimes = 1;
        if (t > 0) WaitFlag<HardEvent::M_MTE1>(3);
        LoadData(l0a, l1_a, load);
        LoadData(l0b, l1_b, load);
        SetFlag<HardEvent::MTE1_MTE2>(0);
        if (t + 1 == TILES) WaitFlag<HardEvent::MTE1_MTE2>(0);
        if constexpr (fault != Fault::NO_L0_FLAG) {
            SetFlag<HardEvent::MTE1_M>(0);
            WaitFlag<HardEvent::MTE1_M>(0);
        }
        if constexpr (uses_flags() && fault != Fault::NO_L0C_REUSE) {
            if (t > 0) WaitFlag<HardEvent::FIX_M>(0);
        }
        MmadParams mmad;
        mmad.m = SIDE;
        mmad.n = SIDE;
        mmad.k = DEPTH;
        mmad.cmatrixInitVal = true;
        mmad.unitFlag = uses_flags() ? 0 : 2;
        Mmad(l0c, l0a, l0b, mmad);
        if constexpr (fault != Fault::NO_MMAD_BARRIER) PipeBarrier<PIPE_M>();
        mmad.cmatrixInitVal = false;
        mmad.unitFlag = uses_flags() ? 0 : 3;
        Mmad(l0c, l0a, l0b, mmad);
        SetFlag<HardEvent::M_MTE1>(3);
        if constexpr (uses_flags() && fault != Fault::NO_L0C_FLAG) {
            SetFlag<HardEvent::M_FIX>(0);
            WaitFlag<HardEvent::M_FIX>(0);
        }
    }

    __aicore__ void store(uint32_t t, const LocalTensor<int32_t>& l0c) {
        FixpipeParamsV220 fixpipe;
        fixpipe.nSize = SIDE;
        fixpipe.mSize = SIDE;
        fixpipe.srcStride = SIDE;
        fixpipe.dstStride = SIDE;
        const bool keeps = fault == Fault::UNIT_FLAG_LEFT && t + 1 == TILES;
        fixpipe.unitFlag = uses_flags() ? 0 : keeps ? 2 : 3;
        Fixpipe<int32_t, int32_t, CFG_ROW_MAJOR>(ws_[t % SLOTS * PRODUCT], l0c, fixpipe);
        if constexpr (fault == Fault::UNIT_FLAG_TWICE) {
            Fixpipe<int32_t, int32_t, CFG_ROW_MAJOR>(ws_[t % SLOTS * PRODUCT], l0c, fixpipe);
        }
        if constexpr (uses_flags() && fault != Fault::NO_L0C_REUSE) SetFlag<HardEvent::FIX_M>(0);
        if constexpr (fault != Fault::NO_FULL) CrossCoreSetFlag<2, PIPE_FIX>(FULL);
    }

    GlobalTensor<int8_t> a_, b_;
    GlobalTensor<int32_t> y_, ws_;
};

}  // namespace

#define PRODUCTS(name, fault)                                                              \
    extern "C" __global__ __aicore__ void products_##name(GM_ADDR a, GM_ADDR b, GM_ADDR y, \
                                                          GM_ADDR scratch) {               \
        Products<Fault::fault> products(a, b, y, scratch);                                 \
        if ASCEND_IS_AIC {                                                                 \
            products.cube();                                                               \
        } else {                                                                           \
            products.vector();                                                             \
        }                                                                                  \
    }

PRODUCTS(none, NONE)
PRODUCTS(no_full, NO_FULL)
PRODUCTS(no_empty, NO_EMPTY)
PRODUCTS(one_empty, ONE_EMPTY)
PRODUCTS(no_l1_flag, NO_L1_FLAG)
PRODUCTS(no_l0_flag, NO_L0_FLAG)
PRODUCTS(no_l0c_flag, NO_L0C_FLAG)
PRODUCTS(no_l0c_reuse, NO_L0C_REUSE)
PRODUCTS(no_mmad_barrier, NO_MMAD_BARRIER)
PRODUCTS(unit_flag, UNIT_FLAG)
PRODUCTS(unit_flag_twice, UNIT_FLAG_TWICE)
PRODUCTS(unit_flag_left, UNIT_FLAG_LEFT)
