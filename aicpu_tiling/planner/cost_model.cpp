// SPDX-License-Identifier: Apache-2.0
// cost_model.cpp - the cost model's numbers and where they come from.
// "table": theoretical performance of architecture 2201 in the vendor's asc-devkit documentation.
// "measured": the vendor's example read-mes for A2/A3. "assumed": no public figure, so a round guess.
#include "planner/cost_model.h"

#include <algorithm>

namespace sals {
namespace {

// ---- the chip, per core --------------------------------------------------------------------------------
constexpr int64_t HBM_BYTES = 32;      // per cycle, table; 1.41 TB/s (measured) / 24 cores / 1.8 GHz = 32.6
constexpr int64_t L2_BYTES = 120;      // per cycle; 5.2 TB/s (measured) / 24 cores / 1.8 GHz
constexpr int64_t LANES = 64;          // fp32 elements per cycle of a vector core, table
constexpr int64_t VECTOR_CORES = 2;    // that share the work of one cube core
constexpr int64_t VECTOR_START = 22;   // cycles to start a vector instruction, measured
constexpr int64_t DMA_ISSUE = 16 + 5;  // cycles to issue a DMA of one piece, measured
constexpr int64_t CUBE_M = 16;         // rows and columns of the cube's tile, table
constexpr int64_t CUBE_K_INT8 = 32;
constexpr int64_t CUBE_K_INT4 = 64;
constexpr int64_t SYNC_ALL = 900;  // cycles until all cores have met, assumed: half a microsecond

// ---- the problem: the plan's arguments don't tell row sizes, and only ratios of costs matter -----------
constexpr int64_t HEAD_DIM = 128;
constexpr int64_t RANK = 64;
constexpr int64_t FLOAT_BYTES = 4;
constexpr int64_t HALF_BYTES = 2;

// A tile of scored tokens, one query row. HBM binds: 36 bytes per token against, per block of 16 tokens
// (one cube tile), 2.3 cycles of log-sum-exp and 0.3 of selection on the vector cores.
CostModel qsi_model() {
    const int64_t token_bytes = RANK / 2 + FLOAT_BYTES;  // int4 row and its scale
    const int64_t hbm = ceil_div(QSI_TILE_TOKENS * token_bytes, HBM_BYTES);
    const int64_t cube = ceil_div(QSI_TILE_TOKENS * CUBE_M * RANK, CUBE_M * CUBE_M * CUBE_K_INT4);
    CostModel model;
    model.tile_tokens = QSI_TILE_TOKENS;
    model.tile_cycles = std::max(hbm, cube);
    model.start_cycles = 2 * DMA_ISSUE;  // query, block table
    // A row without candidates still writes its ids: the fixed part of selection, 430 cycles by count of
    // vector instructions, on one of two vector cores. Longer rows hide it behind the loads of the next.
    model.floor_cycles = 430 / VECTOR_CORES;
    return model;
}

// A tile of listed tokens for query_rows rows, in two int8 terms. Up to about 30 rows HBM binds, then L2.
CostModel sfaa_model(int64_t query_rows) {
    constexpr int64_t TERMS = 2;
    constexpr int64_t T = SFAA_TILE_TOKENS;
    const int64_t kv_bytes = 2 * HEAD_DIM * T;  // int8 keys and values
    const int64_t scores = query_rows * T;
    // Through L2: KV; per score and term an int32 product written and read, an int8 P written and read;
    // per 1024 tokens an int32 output row and term written and read.
    const int64_t score_bytes = TERMS * 2 * (FLOAT_BYTES + 1);
    const int64_t output_bytes = TERMS * 2 * FLOAT_BYTES * HEAD_DIM * query_rows * T / 1024;
    const int64_t hbm = ceil_div(kv_bytes, HBM_BYTES);
    const int64_t l2 = ceil_div(kv_bytes + scores * score_bytes + output_bytes, L2_BYTES);
    // 14 passes over the scores: combine terms, scale, max, exp, split, sums, casts.
    const int64_t vector = 14 * (ceil_div(scores, LANES * VECTOR_CORES) + VECTOR_START);
    const int64_t stacked = ceil_div(TERMS * query_rows, CUBE_M) * CUBE_M;
    const int64_t cube = 2 * ceil_div(stacked * T * HEAD_DIM, CUBE_M * CUBE_M * CUBE_K_INT8);
    const int64_t query_bytes = query_rows * HEAD_DIM * HALF_BYTES;
    CostModel model;
    model.tile_tokens = T;
    model.tile_cycles = std::max({hbm, l2, vector, cube});
    model.start_cycles = 3 * DMA_ISSUE + ceil_div(query_bytes, HBM_BYTES);  // query, ids, block table
    model.finish_cycles = ceil_div(query_bytes, HBM_BYTES);                 // the output has its size
    return model;
}

}  // namespace

CostModel cost_model(PlanOp op, int64_t query_rows) {
    return op == PlanOp::QSI ? qsi_model() : sfaa_model(query_rows);
}

int64_t merge_cycles(PlanOp op, int64_t unit_parts, int64_t row_tokens) {
    if (op == PlanOp::QSI) {
        // Threshold selection by count of vector instructions: 588, 1652 and 2559 cycles for 608, 4064 and
        // 8160 scores, so 430 + 0.26 per score; loading a score from L2 takes 0.04.
        const int64_t scores = row_tokens / DEFAULT_BLOCK_SIZE;
        return SYNC_ALL + 430 + ceil_div(scores * 3, int64_t{10});
    }
    // A unit fetches its parts, folds them and stores the result, one after the other: 1900 cycles by the
    // simulator, most of it latency. A part adds three passes over its slice: rescale, add, store or carry.
    constexpr int64_t UNIT = 1900;
    const int64_t part = 3 * (ceil_div(MERGE_SLICE_ROWS * HEAD_DIM, LANES) + VECTOR_START);
    return SYNC_ALL + UNIT + unit_parts * part;
}

}  // namespace sals
