// SPDX-License-Identifier: Apache-2.0
// arch.h - memories and units of the chips the kernels run on (Ascend 910B and 910_93, architecture 2201).
// Per core unless said. The number of cores differs between chips and comes from the platform.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sals {

struct AtlasA2 {
    static constexpr int64_t AIV_PER_AIC = 2;

    // A kernel on cube and vector cores leaves 256 bytes of UB and L1 to the hardware, and 8 KiB of UB to the
    // Ascend C library (Select keeps its mask there).
    static constexpr int64_t RESERVED_BYTES = 256;
    static constexpr int64_t LIBRARY_UB_BYTES = 8 * 1024;
    static constexpr int64_t UB_BYTES = 192 * 1024 - RESERVED_BYTES - LIBRARY_UB_BYTES;
    static constexpr int64_t L1_BYTES = 512 * 1024 - RESERVED_BYTES;
    static constexpr int64_t L0A_BYTES = 64 * 1024;
    static constexpr int64_t L0B_BYTES = 64 * 1024;
    static constexpr int64_t L0C_BYTES = 128 * 1024;

    static constexpr int64_t DATABLOCK_BYTES = 32;  // unit of every DMA inside a core, and of C0
    static constexpr int64_t FRACTAL_BYTES = 512;   // tile of L0A and L0B: 16 rows of C0
    static constexpr int64_t FRACTAL_ROWS = 16;
    static constexpr int64_t L2_LINE_BYTES = 512;
    static constexpr int64_t CACHE_LINE_BYTES = 64;  // of the scalar unit
    static constexpr int64_t REPEAT_BYTES = 256;     // what a vector instruction handles per cycle
    static constexpr int64_t MAX_REPEATS = 255;

    // Ids 6 and 7 of every pair of pipes are reserved; so are M_MTE1 ids 0 to 2 on the cube core (TPipe) and
    // cross-core ids from 11 on (SyncAll).
    static constexpr int32_t EVENTS_PER_PIPE_PAIR = 6;
    static constexpr int32_t FIRST_FREE_M_MTE1 = 3;
    static constexpr int32_t CROSS_CORE_FLAGS = 11;
    static constexpr int32_t MAX_UNWAITED_SETS = 15;
};

}  // namespace sals
