// SPDX-License-Identifier: Apache-2.0
// cost_table.h - every number of the cost model (architecture 2201: Atlas A2, 910B and 910_93), with its
// basis:
//   [doc]  vendor documentation: the appendices on the theoretical performance of vector and cube
//   instructions,
//          the architecture chapters for NPU architecture 2201, the platform files of CANN 8.1.RC1
//   [dma]  vendor measurement: run times of the asc-devkit example data_copy on Atlas A2/A3
//   [ub]   vendor measurement: run times of the asc-devkit example bank_conflict_ub on Atlas A2/A3
//   [mmad] vendor measurement: run times in the documentation of Mmad's unitFlag
//   [assumed] nothing is published; our choice
// docs/explanation/cost-model.md derives the measured ones. Rates are bytes per cycle of one core unless
// said.
#pragma once
#include <cstdint>

namespace sals::sim::table {

// ---- global memory and the L2 ----
inline constexpr double HBM_BYTES_PER_NS = 1490;  // [dma] all cores: 302 MB in 202.7 us by 48 AIVs
inline constexpr double L2_BYTES_PER_NS = 5200;   // [doc] all cores: the peak that data_copy computes with
inline constexpr uint32_t LINE_BYTES = 512;       // [doc] of the L2
inline constexpr uint32_t SECTOR_BYTES = 128;     // [doc] smallest request; [dma] unit of the hit counters

// [dma] of cores that touch the same lines at once, together: 4.97 by 48 AIVs, 4.91 by 24 AICs
inline constexpr double LINE_REQUESTS_PER_NS = 4.94;

inline constexpr double HBM_READ_RATE = 32;  // [doc]; [dma] 24 AICs with rows of 512 bytes: 31.7
inline constexpr double L2_READ_RATE = 110;  // [doc]; [dma] 24 AICs that hit: 114
inline constexpr double L2_WRITE_RATE = 86;  // [doc]
inline constexpr double UB_OUT_RATE = 64;    // [doc] UB to GM

inline constexpr double DMA_ISSUE =
    16;                               // [dma] with REQUEST: 21 cycles for a DMA of 128 bytes, measured 20.6
inline constexpr double REQUEST = 5;  // [dma] per row of ND2NZ; per piece of any other DMA [assumed]
inline constexpr double GM_LATENCY = 500;  // [assumed] until the data, or the acknowledgement, is there

// ---- cube core ----
inline constexpr double L1_TO_L0A_RATE = 256;    // [doc] also with transposition
inline constexpr double L1_TO_L0B_RATE = 128;    // [doc]
inline constexpr double L1_TO_TABLE_RATE = 32;   // [doc] bias table, fixpipe buffer
inline constexpr double L0C_READ_RATE = 256;     // [doc] to L1, 64 elements of 4 bytes; to GM [assumed]
inline constexpr double FIXPIPE_OUT_RATE = 128;  // [doc] to L1; to GM [assumed], besides L2_WRITE_RATE
inline constexpr double FILL_RATE = 256;         // [assumed] InitConstValue
inline constexpr double LOAD_SETUP = 16;         // [assumed] like the issue of a DMA
inline constexpr double FIXPIPE_SETUP = 16;      // [assumed]
inline constexpr double MMAD_SETUP = 15;         // [mmad] 14.1 to 16.1 per instruction (in theory 7.5)

struct CubeDepth {
    uint32_t per_cycle;  // of k, times 16 of m and 16 of n
    uint32_t granule;    // k is rounded up to it
};
inline constexpr CubeDepth CUBE_INT4 = {64, 64};  // [doc]
inline constexpr CubeDepth CUBE_B8 = {32, 32};    // [doc]
inline constexpr CubeDepth CUBE_B16 = {16, 16};   // [doc]
inline constexpr CubeDepth CUBE_B32 = {4, 8};     // [doc]

inline constexpr const char* DMA_NAMES = "DataCopy DataCopyPad LoadData InitConstValue";
inline constexpr const char* LOAD_NAMES = "LoadData LoadDataWithTranspose DataCopy InitConstValue";
inline constexpr const char* FIXPIPE_NAMES = "Fixpipe DataCopy";

// ---- vector unit ----
inline constexpr double VECTOR_SETUP = 22;   // [ub] 86 cycles for 64 repeats without conflicts
inline constexpr double UB_COPY_RATE = 256;  // [doc] UB to UB

enum class Unit : uint8_t { BYTES, LANES, REPEATS };
struct VectorRate {
    Unit unit;        // of what passes per cycle; BYTES: lanes times the bytes of the wider operand
    double b16, b32;  // wider operand of up to 2 bytes, of 4 and 8 bytes
    const char* names;
};
inline constexpr VectorRate VECTOR_RATES[] = {
    // [doc] 128 lanes of half, 64 of float
    {Unit::BYTES, 256, 256,
     "Add Sub Mul Max Min And Or Not Adds Muls Maxs Mins ShiftLeft ShiftRight Abs Relu LeakyRelu Reciprocal "
     "Rsqrt "
     "AddRelu SubRelu FusedMulAdd FusedMulAddRelu Axpy"},
    {Unit::BYTES, 256, 256, "Cast CastDeq CastDequant AddReluCast SubReluCast MulCast"},
    {Unit::BYTES, 256, 256,
     "Compare CompareScalar Compares Select Duplicate CreateVecIndex ArithProgression"},
    {Unit::BYTES, 256, 256, "Transpose TransDataTo5HD PairReduceSum"},
    {Unit::BYTES, 128, 128, "MulAddDst GatherMask"},
    {Unit::BYTES, 84, 84, "Gatherb"},  // 42 lanes of 2 bytes, 21 of 4
    {Unit::LANES, 32, 32, "Exp Ln Sqrt Div"},
    {Unit::LANES, 128.0 / 7, 64, "BlockReduceSum BlockReduceMax BlockReduceMin"},
    {Unit::LANES, 128.0 / 7, 64.0 / 7, "WholeReduceSum WholeReduceMax WholeReduceMin RepeatReduceSum"},
    {Unit::LANES, 5, 5, "Gather"},
    {Unit::LANES, 2, 2, "Sort32 MrgSort"},
    {Unit::REPEATS, 1, 1, "Brcb"},  // 8 lanes in, 8 blocks out
    // [assumed] UB to UB with a mask, at the rate of the unmasked copy
    {Unit::BYTES, 256, 256, "Copy"},
    {Unit::REPEATS, 1, 1, "SetCmpMask GetCmpMask"},  // [assumed] 16 bytes to and from a register
};

// Banks of the UB: address bits 5 to 8 are the group, bits 16 and 17 the bank within the group [doc].
inline constexpr uint32_t UB_BLOCK = 32;
inline constexpr uint32_t UB_GROUPS = 16;
inline constexpr uint32_t UB_BANK_SHIFT = 16;
// [ub] cycles of a repeat whose write meets a read in one bank: 49 more than without, over 64 repeats.
inline constexpr double WRITE_READ_REPEAT = 1 + 49.0 / 64;

// ---- scalar unit and synchronisation ----
inline constexpr double DISPATCH = 5;          // [assumed] operand registers and the instruction itself
inline constexpr double SYNC = 4;              // [assumed] SetFlag, WaitFlag, PipeBarrier on their pipe
inline constexpr double SCALAR_LOCAL = 10;     // [assumed] GetValue, SetValue on chip
inline constexpr double SCALAR_GM_HIT = 4;     // [assumed] data cache
inline constexpr double SCALAR_GM_MISS = 500;  // [assumed] like GM_LATENCY
inline constexpr double CROSS_CORE = 300;      // [assumed] from the set until the other core sees it
inline constexpr double SYNC_ALL = 1850;       // [assumed] a microsecond
inline constexpr double LAUNCH = 6.4 * 1850;   // [dma] time of a core outside MTE2, median of 11 runs

}  // namespace sals::sim::table
