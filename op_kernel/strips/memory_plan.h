// SPDX-License-Identifier: Apache-2.0
// memory_plan.h - the UB of a vector core that works on strips: one head of up to 16 consecutive tokens. Rows
// of a strip are `columns` apart: head_dim for what is projected, a cache's row for what is stored.
#pragma once
#include "common/vector_ops.h"
#include "sals/cache_policy.h"
#include "sals/limits.h"
#include "sals/qsi_policy.h"
#include "sals/selection.h"

namespace sals::strips {

using Floats = AscendC::LocalTensor<float>;

inline constexpr int32_t STRIP_FLOATS = STRIP_TOKENS * MAX_HEAD_DIM;

// Rows of a projection that are multiplied at a time: at the smallest rank most fit.
inline constexpr int32_t TILE_FLOATS = 4096;
inline constexpr int32_t TILE_ROWS = TILE_FLOATS / QSI_RANK_STEP;

inline constexpr int32_t INPUT_SLOTS = 2;
inline constexpr int32_t TILE_SLOTS = 2;
inline constexpr int32_t RESULT_SLOTS = 2;
inline constexpr int32_t MASK_BYTES = F32_LANES / 8;

// Codes and scales of a strip on their way to global memory.
struct Result {
    int8_t codes[STRIP_FLOATS];                      // or int4, two in a byte
    float scale_lanes[STRIP_TOKENS][F32_DATABLOCK];  // the scale of each token, a whole datablock of it
};

struct StripPlan {
    float input[INPUT_SLOTS][STRIP_FLOATS];  // vectors in their own type, padding of rows is zero
    float values[STRIP_FLOATS];
    float scratch[STRIP_FLOATS];  // further query heads, magnitudes
    // quantisation
    float scales[F32_LANES];  // one per token: comparisons take whole repeats
    float divisors[F32_LANES];
    float divisor_lanes[STRIP_TOKENS][F32_DATABLOCK];
    uint8_t is_positive[AtlasA2::DATABLOCK_BYTES];
    Result results[RESULT_SLOTS];
    // projection
    float tiles[TILE_SLOTS][TILE_FLOATS];
    float products[TILE_FLOATS];
    float factor_lanes[TILE_ROWS][F32_DATABLOCK];
    float latents[STRIP_TOKENS * MAX_RANK];
};
static_assert(MASK_BYTES <= AtlasA2::DATABLOCK_BYTES, "the mask of a repeat exceeds its place");
static_assert(TILE_ROWS <= AtlasA2::MAX_REPEATS, "a tile exceeds the repeats of an instruction");
static_assert(STRIP_TOKENS <= F32_LANES, "scales of a strip exceed a repeat");

}  // namespace sals::strips
