// SPDX-License-Identifier: Apache-2.0
// softmax_params.h - how SoftmaxFlashV2 is configured, what shape it works on and in which steps.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "ascendc/call_check.h"
#include "ascendc/macros.h"
#include "ascendc/types.h"
#include "kernel_tiling/kernel_tiling.h"

namespace AscendC {

enum class SoftmaxMode {
    SOFTMAX_NORMAL = 0,             // statistics are [m, 8]: every row's value fills a datablock
    SOFTMAX_OUTPUT_WITHOUT_BRC = 1  // statistics are [m, 1]
};

struct SoftmaxConfig {
    constexpr SoftmaxConfig(bool check_tiling, uint32_t m = 0, uint32_t k = 0,
                            SoftmaxMode output = SoftmaxMode::SOFTMAX_NORMAL)
        : isCheckTiling(check_tiling), oriSrcM(m), oriSrcK(k), mode(output) {}

    bool isCheckTiling = true;  // a tiling for another shape is replaced
    uint32_t oriSrcM = 0;       // not 0: used instead of the shape's
    uint32_t oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};

constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};

// srcM rows of srcK elements lie in UB; oriSrcM and oriSrcK of them are not padding.
struct SoftMaxShapeInfo {
    uint32_t srcM{0};
    uint32_t srcK{0};
    uint32_t oriSrcM{0};
    uint32_t oriSrcK{0};
};

namespace internal {

constexpr uint32_t SOFTMAX_LANES = ONE_REPEAT_BYTE_SIZE / sizeof(float);                 // a repeat
constexpr uint32_t SOFTMAX_BLOCK = ONE_BLK_SIZE / sizeof(float);                         // a datablock
constexpr uint32_t SOFTMAX_ROW_BYTES = (SOFTMAX_LANES + SOFTMAX_BLOCK) * sizeof(float);  // scratch

}  // namespace internal

// As many rows at a time as the scratch holds, in eights if that is not all of them. Float elements, rows one
// after another (ND).
__aicore__ constexpr SoftMaxTiling SoftMaxFlashV2TilingFunc(
    const SoftMaxShapeInfo& shapeInfo, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2,
    const uint32_t localWorkSpaceSize, const bool = false, const bool = false,
    const bool isDataFormatNZ = false, const bool = false, sim::Where where = sim::Where::here()) {
    const uint32_t m = shapeInfo.srcM, k = shapeInfo.srcK;
    uint32_t rows = std::min(localWorkSpaceSize / internal::SOFTMAX_ROW_BYTES, m);
    if (rows < m && rows > internal::SOFTMAX_BLOCK) rows -= rows % internal::SOFTMAX_BLOCK;
    const bool is_float = dataTypeSize1 == sizeof(float) && dataTypeSize2 == sizeof(float);
    if (rows == 0 || !is_float || isDataFormatNZ) {
        internal::CallCheck("SoftMaxFlashV2TilingFunc", where)
            .fail("only float in ND format is modelled, and a row needs " +
                  std::to_string(internal::SOFTMAX_ROW_BYTES) +
                  " bytes of work space: " + std::to_string(localWorkSpaceSize) + " bytes for " +
                  std::to_string(m) + " rows of " + std::to_string(dataTypeSize1) + "-byte elements given");
        return {};
    }
    SoftMaxTiling tiling;
    tiling.srcM = m;
    tiling.srcK = k;
    tiling.srcSize = m * k;
    tiling.outMaxM = m;
    tiling.outMaxK = internal::SOFTMAX_BLOCK;
    tiling.outMaxSize = m * internal::SOFTMAX_BLOCK;
    tiling.splitM = tiling.reduceM = rows;
    tiling.splitK = k;
    tiling.splitSize = rows * k;
    tiling.reduceK = internal::SOFTMAX_BLOCK;
    tiling.reduceSize = rows * internal::SOFTMAX_BLOCK;
    tiling.rangeM = m / rows;
    tiling.tailM = m % rows;
    tiling.tailSplitSize = tiling.tailM * k;
    tiling.tailReduceSize = tiling.tailM * internal::SOFTMAX_BLOCK;
    return tiling;
}

}  // namespace AscendC
