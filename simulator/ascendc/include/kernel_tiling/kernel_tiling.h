// SPDX-License-Identifier: Apache-2.0
// kernel_tiling.h - tiling structs of library functions, as host and kernel exchange them. They are found
// both by their plain names and in AscendC::tiling.
#pragma once
#include <cstdint>

// How SoftmaxFlashV2 goes through a [srcM, srcK] tensor: reduceM rows at a time. Sizes are in elements.
struct SoftMaxTiling {
    uint32_t srcM = 0;
    uint32_t srcK = 0;
    uint32_t srcSize = 0;
    uint32_t outMaxM = 0;
    uint32_t outMaxK = 0;
    uint32_t outMaxSize = 0;
    uint32_t splitM = 0;
    uint32_t splitK = 0;
    uint32_t splitSize = 0;
    uint32_t reduceM = 0;
    uint32_t reduceK = 0;
    uint32_t reduceSize = 0;
    uint32_t rangeM = 0;
    uint32_t tailM = 0;
    uint32_t tailSplitSize = 0;
    uint32_t tailReduceSize = 0;
};

// A field of tiling structs that embed it; its function, ConfusionTranspose, is not part of the simulator.
struct ConfusionTransposeTiling {
    uint32_t param0 = 0;
    uint32_t param1 = 0;
    uint32_t param2 = 0;
    uint32_t param3 = 0;
    uint32_t param4 = 0;
    uint32_t param5 = 0;
    uint32_t param6 = 0;
    uint32_t param7 = 0;
    uint32_t param8 = 0;
    uint32_t param9 = 0;
    uint32_t param10 = 0;
    uint32_t param11 = 0;
    uint32_t param12 = 0;
    uint32_t param13 = 0;
    uint32_t param14 = 0;
    uint32_t param15 = 0;
    uint32_t param16 = 0;
    uint32_t param17 = 0;
};

namespace AscendC::tiling {
using ::ConfusionTransposeTiling;
using ::SoftMaxTiling;
}  // namespace AscendC::tiling
