// SPDX-License-Identifier: Apache-2.0
// cost_table.h - every number of the cost model (architecture 2201, Atlas A2), each with its basis:
//   [doc]  vendor documentation: the appendices on the theoretical performance of vector and cube instructions,
//          the architecture chapters for NPU architecture 2201, the platform files of CANN 8.1.RC1
//   [dma]  measured by the vendor: run times of the asc-devkit example data_copy on Atlas A2/A3
//   [ub]   measured by the vendor: run times of the asc-devkit example bank_conflict_ub on Atlas A2/A3
//   [mmad] measured by the vendor: the table of run times in the documentation of Mmad's unitFlag
//   [assumed] nothing published; a choice of ours
// docs/explanation/cost-model.md derives the measured ones. Cycles and bytes per cycle are those of one core.
#pragma once
#include <cstdint>

namespace sals::sim::table {

// ---- global memory and the L2 ------------------------------------------------------------------------
inline constexpr double HBM_BYTES_PER_NS = 1490;  // [dma] 302 MB in 202.7 us by 48 AIVs, 128 KiB per DMA
inline constexpr double L2_BYTES_PER_NS = 5200;   // [doc] peak that the data_copy example computes with
inline constexpr uint64_t L2_BYTES = 192ull << 20;  // [doc] 910B1 to B3, 910_93; 96 MiB on 910B4
inline constexpr uint32_t LINE_BYTES = 512;         // [doc] of the L2
inline constexpr uint32_t SECTOR_BYTES = 128;       // [doc] smallest request; [dma] unit of the hit counters

inline constexpr double HBM_READ_RATE = 32;   // [doc] one core; [dma] 24 AICs with 512-byte rows: 32.3
inline constexpr double L2_READ_RATE = 110;   // [doc]; [dma] 24 AICs that hit: 114
inline constexpr double L2_WRITE_RATE = 86;   // [doc]
inline constexpr double UB_TO_GM_RATE = 64;   // [doc]

inline constexpr double DMA_ISSUE = 16;    // [dma] with REQUEST below: 21 cycles per DMA of 128 bytes, 20.6 measured
inline constexpr double REQUEST = 5;       // [dma] per row of ND2NZ; for pieces of other DMAs [assumed]
inline constexpr double GM_LATENCY = 500;  // [assumed] from issue until the data, or the acknowledgement, is there

// ---- inside a core -----------------------------------------------------------------------------------
inline constexpr double L1_TO_L0A_RATE = 256;  // [doc] LoadData, also with transposition
inline constexpr double L1_TO_L0B_RATE = 128;  // [doc]
inline constexpr double L1_TO_TABLE_RATE = 32;  // [doc] bias table, fixpipe buffer
inline constexpr double L0C_READ_RATE = 256;   // [doc] to L1: 64 elements of 4 bytes; to GM [assumed]
inline constexpr double FIXPIPE_OUT_RATE = 128;  // [doc] to L1; to GM [assumed], besides L2_WRITE_RATE
inline constexpr double LOAD_SETUP = 16;         // [assumed] LoadData, like the issue of a DMA
inline constexpr double FIXPIPE_SETUP = 16;      // [assumed]
inline constexpr double FILL_RATE = 256;         // [assumed] InitConstValue

inline constexpr double MMAD_SETUP = 15;  // [mmad] 14.1 to 16.1 per instruction; 7.5 in theory
inline constexpr uint32_t CUBE_M = 16, CUBE_N = 16;  // [doc]
struct CubeDepth {
    uint32_t per_cycle;  // k that one cycle covers
    uint32_t granule;    // k is rounded up to it
};
inline constexpr CubeDepth CUBE_INT4 = {64, 64};  // [doc]
inline constexpr CubeDepth CUBE_B8 = {32, 32};    // [doc]
inline constexpr CubeDepth CUBE_B16 = {16, 16};   // [doc]
inline constexpr CubeDepth CUBE_B32 = {4, 8};     // [doc]

// ---- vector unit -------------------------------------------------------------------------------------
inline constexpr double VECTOR_SETUP = 22;  // [ub] 86 cycles for 64 repeats without conflicts
inline constexpr uint32_t UB_BLOCK = 32;    // [doc] bytes of a row of a bank
inline constexpr uint32_t UB_GROUPS = 16;   // [doc] address bits 5 to 8
inline constexpr uint32_t UB_BANK_SHIFT = 16;  // [doc] address bits 16 and 17 tell the banks of a group apart
// [ub] cycles of a repeat that reads and writes one bank at once: 49 more than without, over 64 repeats.
inline constexpr double WRITE_READ_REPEAT = 1.0 + 49.0 / 64.0;

// How many lanes of a vector instruction pass in a cycle.
struct VectorRate {
    const char* name;
    double b16, b32;       // lanes per cycle, wider operand of up to 2 bytes / of 4 bytes; 8 bytes: half of b32
    bool by_repeat;        // b16, b32 are repeats per cycle
};
inline constexpr VectorRate FULL[] = {  // [doc] 256 bytes per cycle
    {"Add", 128, 64, false}, {"Sub", 128, 64, false}, {"Mul", 128, 64, false}, {"Max", 128, 64, false},
    {"Min", 128, 64, false}, {"Adds", 128, 64, false}, {"Muls", 128, 64, false}, {"Maxs", 128, 64, false},
    {"Mins", 128, 64, false}, {"Abs", 128, 64, false}, {"Relu", 128, 64, false}, {"LeakyRelu", 128, 64, false},
};
}
