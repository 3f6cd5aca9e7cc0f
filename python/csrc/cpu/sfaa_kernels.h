// SPDX-License-Identifier: Apache-2.0
// sfaa_kernels.h - what the arithmetic of sparse attention shares with the code that schedules it: plain
// data, and one table of functions per instruction set. Only the table's functions are compiled per
// instruction set.
#pragma once
#include <cstdint>

#include "cpu/simd_level.h"
#include "sals/limits.h"

namespace sals::cpu {

inline constexpr int32_t STEP = SFAA_STEP_TOKENS;
inline constexpr int32_t PASS_ROWS = 64;  // query rows that go through a list together
inline constexpr int32_t BLOCK_ROWS = 4;  // of which so many are in work at once
inline constexpr int32_t CACHE_LINE = 64;
inline constexpr int32_t MAX_TILE_STRETCHES = 2 * STEP;  // a key and a value row for each token
inline constexpr int32_t TERMS = 2;                      // int8 rows that stand for one float row

// Whole cache lines that follow each other.
struct Stretch {
    const int8_t* begin;
    const int8_t* end;
};

// The tokens of a step that any row sees, in list order without gaps, filled up to a multiple of 16 by
// repeating the last one.
struct StepTokens {
    int32_t count;
    int32_t padded_count;
    int32_t last_position;  // the largest
    int64_t plane_stride;
    const int8_t* key[STEP];
    const int8_t* value[STEP];
    int32_t position[STEP];
    float key_scale[STEP];  // per-token scales only
    float value_scale[STEP];
    int32_t stretch_count;
    Stretch stretch[MAX_TILE_STRETCHES];  // memory of the rows, to be asked for ahead of use
};

// Query rows of one list row in two terms: row ~ factor * (codes of term 0 + codes of term 1 / 254).
struct QueryRows {
    int32_t count;
    int32_t head_dim;
    bool static_scales;
    int32_t visible[PASS_ROWS];  // tokens below this position are seen
    float factor[PASS_ROWS];     // logit of the dot product
    float poison[PASS_ROWS];     // NaN if the row holds an infinity or NaN, else 0
    int32_t code_sum[PASS_ROWS * TERMS];
    alignas(64) int8_t codes[PASS_ROWS * TERMS * MAX_HEAD_DIM];  // [row][term][head_dim]
};

// Attention of rows over some tokens, not normalised.
struct Partial {
    float* maximum;      // [rows] largest logit
    float* row_sum;      // [rows] sum of the quantised weights
    float* exp_sum;      // [rows] sum of the exact weights
    float* accumulator;  // [rows, head_dim] sum of weighted value codes
};

struct StepScratch {
    alignas(64) int32_t keys[MAX_HEAD_DIM / 4 * STEP];
    alignas(64) int32_t values[STEP / 4 * MAX_HEAD_DIM];
    alignas(64) int32_t dots[BLOCK_ROWS * TERMS * STEP];
    alignas(64) int32_t products[BLOCK_ROWS * TERMS * MAX_HEAD_DIM];
    alignas(64) int8_t weights[BLOCK_ROWS * TERMS * STEP];
};

struct SfaaKernels {
    // query [count, head_dim] fp32 -> codes, factor and poison; channel_scale [head_dim] or null.
    void (*quantize_query)(const float* query, const float* channel_scale, float scale, QueryRows& rows);
    // Adds the tokens of `step` to `partial`, and asks for the memory of `next`.
    void (*attend_step)(const QueryRows& rows, const StepTokens& step, const StepTokens& next,
                        StepScratch& scratch, const Partial& partial);
    void (*merge)(int32_t rows, int32_t head_dim, const Partial& later, const Partial& into);
    // out [rows, head_dim], which may be the accumulator; lse [rows] or null.
    void (*finish)(int32_t rows, int32_t head_dim, const Partial& partial, const float* channel_scale,
                   float* out, float* lse);
};

const SfaaKernels& sfaa_kernels_portable();
const SfaaKernels& sfaa_kernels_avx2();
const SfaaKernels& sfaa_kernels_avx512();

}  // namespace sals::cpu
