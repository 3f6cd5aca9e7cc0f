// SPDX-License-Identifier: Apache-2.0
// memory_plan.h - who owns which byte of every memory of a core.
#pragma once
#include "common/vector_ops.h"
#include "sals/sfaa_policy.h"
#include "sals/workspace.h"

namespace sals::sfaa {

inline constexpr int32_t L0_SLOTS = 2;          // steps of a product
inline constexpr int32_t L0C_SLOTS = 2;         // products
inline constexpr int32_t STATS_SLOTS = 3;       // tasks whose weights wait for their products
inline constexpr int32_t TOUCHED_BYTES = 2048;  // what one DMA may bring that is only to reach the L2
inline constexpr int32_t FIRST_SLOTS = 2;       // chunks of scores: one in work, one on its way

inline constexpr int32_t PRODUCT_ROWS = SFAA_TERMS * SFAA_MAX_PASS_ROWS;
inline constexpr int32_t L0_STEP_BYTES = AtlasA2::L0B_BYTES / L0_SLOTS;  // of keys or values
inline constexpr int32_t L0A_STEP_BYTES = 16 * 1024;                     // of a query or weights
inline constexpr int32_t L0C_BYTES = AtlasA2::L0C_BYTES / L0C_SLOTS;

// ---- cube core -----------------------------------------------------------------------------------------
struct L1Plan {
    struct KvSlot {
        int8_t keys[SFAA_TASK_BYTES];    // [head_dim/32][task tokens][32]
        int8_t values[SFAA_TASK_BYTES];  // likewise
    } kv[SFAA_KV_SLOTS];
    int8_t query[SFAA_TERMS * SFAA_PASS_BYTES];           // [head_dim/32][rows][32]
    int8_t weights[PRODUCT_ROWS * SFAA_MAX_TASK_TOKENS];  // [columns/32][rows][32]
};
static_assert(sizeof(L1Plan) <= AtlasA2::L1_BYTES, "the attention kernel's L1 plan exceeds L1");

struct L0aPlan {
    int8_t query[L0A_STEP_BYTES];              // of a pass
    int8_t weights[L0_SLOTS][L0A_STEP_BYTES];  // of a step
};
struct L0bPlan {
    int8_t keys_or_values[L0_SLOTS][L0_STEP_BYTES];
};
struct L0cPlan {
    int32_t products[L0C_SLOTS][L0C_BYTES / sizeof(int32_t)];
};
static_assert(sizeof(L0aPlan) <= AtlasA2::L0A_BYTES && sizeof(L0bPlan) <= AtlasA2::L0B_BYTES &&
                  sizeof(L0cPlan) <= AtlasA2::L0C_BYTES,
              "a step exceeds L0");

// ---- vector cores --------------------------------------------------------------------------------------
inline constexpr int32_t HALF_ROWS = SFAA_MAX_PASS_ROWS / AtlasA2::AIV_PER_AIC;  // of a pass, per core
inline constexpr int32_t STATS_LANES = F32_LANES;                                // one repeat holds them
inline constexpr int32_t CHUNK_SCORES = 7680;                                    // 20 rows of 384 tokens
inline constexpr int32_t SHARE_VALUES =
    HALF_ROWS * SFAA_PASS_BYTES / SFAA_MAX_PASS_ROWS;      // of a head_dim each
inline constexpr int32_t CHUNK_VALUES = SHARE_VALUES / 2;  // of query rows and of results
static_assert(HALF_ROWS <= STATS_LANES);
static_assert(SHARE_VALUES * sizeof(uint16_t) <= CHUNK_VALUES * sizeof(float));  // results of all rows

// One number per query row; in `lanes`, one datablock of it per row.
using PerRow = float[STATS_LANES];
using PerRowLanes = float[HALF_ROWS][F32_DATABLOCK];

// What comes from the cube core: products of first terms and of second terms.
// Half a turn of the UB's banks lies between them, so that one instruction can read both at once.
inline constexpr int32_t BANK_SHIFT = 256;
struct ScoresPlan {
    int32_t first[FIRST_SLOTS][CHUNK_SCORES];  // then logits, weights, both int8 terms of weights
    uint8_t apart[BANK_SHIFT];
    int32_t second[CHUNK_SCORES];
};
struct ProductsPlan {
    int32_t first[SHARE_VALUES];
    uint8_t apart[BANK_SHIFT];
    int32_t second[SHARE_VALUES];
};
struct SoftmaxPlan {
    float key_scales[SFAA_MAX_TASK_TOKENS];  // per-token scales of a task
    float value_scales[SFAA_MAX_TASK_TOKENS];
    float wide_scales[MAX_BLOCK_SIZE][F32_DATABLOCK];
    PerRow ln_full_scale;  // ln(127 * 256)
};

struct QueryRowsPlan {
    uint16_t rows[SHARE_VALUES];   // fp16 or bf16
    float channels[MAX_HEAD_DIM];  // static scales of the keys
    float values[CHUNK_VALUES];
    float scratch[CHUNK_VALUES];
};
struct QueryPlan {
    int8_t first[CHUNK_VALUES];
    int8_t second[CHUNK_VALUES];
    PerRow factors[SFAA_QUERY_SLOTS];  // of a pass: logit = factor * product
    PerRowLanes factor_lanes[SFAA_QUERY_SLOTS];
};

inline constexpr int32_t PART_STATS = 3;  // maximum, sum, exp_sum

// Numbers per query row of the tokens so far, or of a task.
struct Stats {
    PerRow maximum;
    PerRow sum;      // of the weights as quantised, in units of 1/(127 * 256)
    PerRow exp_sum;  // of the weights before, likewise
};
static_assert(offsetof(Stats, maximum) == 0);

struct OutputPlan {
    float rows[SHARE_VALUES];           // of a pass, [rows][head_dim]
    float channels[MAX_HEAD_DIM];       // static scales of the values
    float out[CHUNK_VALUES];            // results as fp16 or bf16, all rows, or a part's as fp32
    PerRowLanes out_lanes[PART_STATS];  // LSE, or statistics of a part
    Stats total;
};

// Parts of rows that are put together, when no scores are in work any more.
inline constexpr int32_t MERGE_VALUES = 16384;
inline constexpr int32_t MERGE_ROWS = 128;  // query rows, of all parts together
using MergeLanes = float[MERGE_ROWS][F32_DATABLOCK];
struct MergePlan {
    float values[MERGE_VALUES];
    MergeLanes stats[PART_STATS];
    MergeLanes folded;
};

struct UbPlan {
    union {
        ScoresPlan scores;
        MergePlan merge;  // behind the last task
    };
    union {
        ProductsPlan products;
        QueryRowsPlan query_rows;  // between the products of two tasks
    };
    SoftmaxPlan softmax;
    QueryPlan query;
    OutputPlan output;
    Stats task_stats[STATS_SLOTS];
    PerRow value_factors[STATS_SLOTS];  // what products are short of with per-token scales
    uint8_t touched[TOUCHED_BYTES];     // arrives and is not looked at
    // between vector instructions only
    float reduced[CHUNK_SCORES / F32_DATABLOCK];
    PerRowLanes reduced_rows;
    PerRow per_row[2];
    uint8_t apart[BANK_SHIFT];
    PerRowLanes lanes[3];
};
static_assert((offsetof(UbPlan, lanes) - offsetof(UbPlan, query) - offsetof(QueryPlan, factor_lanes)) %
                      (2 * BANK_SHIFT) ==
                  BANK_SHIFT,
              "factors and what is added to their products come from one bank");
static_assert(sizeof(UbPlan) <= AtlasA2::UB_BYTES, "the attention kernel's UB plan exceeds the UB");

}  // namespace sals::sfaa
