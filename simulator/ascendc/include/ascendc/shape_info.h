// SPDX-License-Identifier: Apache-2.0
// shape_info.h - a note about a tensor's shape that kernels may attach; no instruction reads it.
#pragma once
#include <cstdint>

#include "ascendc/types.h"

namespace AscendC {

constexpr int32_t K_MAX_SHAPE_DIM = 8;

struct ShapeInfo {
    ShapeInfo() = default;
    ShapeInfo(uint8_t dims, const uint32_t sizes[], uint8_t original_dims, const uint32_t original_sizes[],
              DataFormat format)
        : shapeDim(dims), originalShapeDim(original_dims), dataFormat(format) {
        for (int i = 0; i < dims; ++i) shape[i] = sizes[i];
        for (int i = 0; i < original_dims; ++i) originalShape[i] = original_sizes[i];
    }
    ShapeInfo(uint8_t dims, const uint32_t sizes[], DataFormat format = DataFormat::ND)
        : ShapeInfo(dims, sizes, dims, sizes, format) {}

    uint8_t shapeDim = 0;
    uint8_t originalShapeDim = 0;
    uint32_t shape[K_MAX_SHAPE_DIM] = {};
    uint32_t originalShape[K_MAX_SHAPE_DIM] = {};
    DataFormat dataFormat = DataFormat::ND;
};

inline uint64_t GetShapeSize(const ShapeInfo& info) {
    uint64_t size = 1;
    for (int i = 0; i < info.shapeDim; ++i) size *= info.shape[i];
    return size;
}

}  // namespace AscendC
