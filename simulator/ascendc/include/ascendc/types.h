// SPDX-License-Identifier: Apache-2.0
// types.h - the enumerations of Ascend C, and what they mean to the engine.
#pragma once
#include <cstdint>
#include <type_traits>

#include "engine/types.h"

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_FIX = 10 };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };

namespace AscendC {

namespace sim = sals::sim;

using TEventID = int8_t;

enum class TPosition : uint8_t {
    GM,
    A1,
    A2,
    B1,
    B2,
    C1,
    C2,
    CO1,
    CO2,
    VECIN,
    VECOUT,
    VECCALC,
    LCM = VECCALC,
    SPM,
    SHM = SPM,
    TSCM,
    C2PIPE2GM,
    C2PIPE2LOCAL,
    MAX
};
using QuePosition = TPosition;

// <source pipe>_<target pipe>
enum class HardEvent : uint8_t {
    MTE2_MTE1,
    MTE1_MTE2,
    MTE1_M,
    M_MTE1,
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    M_V,
    V_M,
    V_V,
    MTE3_MTE1,
    MTE1_MTE3,
    MTE1_V,
    MTE2_M,
    M_MTE2,
    V_MTE1,
    M_FIX,
    FIX_M,
    MTE3_MTE2,
    MTE2_MTE3,
    S_V,
    V_S,
    S_MTE2,
    MTE2_S,
    S_MTE3,
    MTE3_S,
    MTE2_FIX,
    FIX_MTE2,
    FIX_S,
    M_S,
    FIX_MTE3,
    MTE1_FIX,
    FIX_MTE1,
    FIX_FIX,
    MAX
};

enum class MaskMode : uint8_t { NORMAL = 0, COUNTER };

enum class RoundMode : uint8_t {
    CAST_NONE = 0,  // nearest even where bits are lost
    CAST_RINT,      // nearest, ties to even
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,  // nearest, ties away from zero
    CAST_TRUNC,  // towards zero
    CAST_ODD,    // inexact results get an odd last bit
    UNKNOWN = 0xFF
};

enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t {
    ORDER_VALUE_INDEX = 0,
    ORDER_INDEX_VALUE,
    ORDER_ONLY_VALUE,
    ORDER_ONLY_INDEX
};

enum class CacheMode {
    CACHE_MODE_DISABLE = 0,
    CACHE_MODE_NORMAL = 1,
    CACHE_MODE_LAST = 2,
    CACHE_MODE_PERSISTENT = 4
};
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class MemDsbT : uint8_t { ALL = 0, DDR, UB, SEQ };
enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D };

template <typename T, typename U>
struct IsSameType {
    static constexpr bool value = std::is_same_v<T, U>;
};

constexpr uint32_t ONE_BLK_SIZE = 32;           // bytes of a datablock
constexpr uint32_t ONE_REPEAT_BYTE_SIZE = 256;  // bytes a vector instruction handles per repeat
constexpr int32_t DEFAULT_BLK_NUM = 8;          // datablocks of a repeat
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
constexpr uint8_t HALF_DEFAULT_REPEAT_STRIDE = 4;
constexpr int32_t MAX_REPEAT_TIMES = 255;
constexpr int32_t BLOCK_CUBE = 16;  // rows and columns that the cube multiplies at once

// The memory behind a position of architecture 2201.
constexpr sim::Mem mem_of(TPosition position) {
    switch (position) {
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::SPM:
        case TPosition::TSCM:
            return sim::Mem::L1;
        case TPosition::A2:
            return sim::Mem::L0A;
        case TPosition::B2:
            return sim::Mem::L0B;
        case TPosition::CO1:
            return sim::Mem::L0C;
        case TPosition::C2:
            return sim::Mem::BT;
        case TPosition::C2PIPE2GM:
            return sim::Mem::FB;
        case TPosition::GM:
        case TPosition::CO2:
            return sim::Mem::GM;
        default:
            return sim::Mem::UB;
    }
}

}  // namespace AscendC
