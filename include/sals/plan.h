// SPDX-License-Identifier: Apache-2.0
// plan.h - ABI of the plan tensor: how the tiles of all rows are divided over the cores.
// Rows are list rows: token_row * heads + head. Core i works from boundary i up to boundary i+1, a
// boundary being (row, tile in that row). A row that a boundary cuts is merged from its parts; parts are
// numbered by slots in core order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "sals/limits.h"
#include "sals/portability.h"

namespace sals {

inline constexpr int32_t PLAN_MAGIC = 0x534C5350;
inline constexpr int32_t PLAN_VERSION = 1;
inline constexpr int32_t PLAN_WORDS = 512;

enum class PlanOp : int32_t { QSI = 1, SFAA = 2 };

struct Plan {
    int32_t magic;
    int32_t version;
    int32_t op;            // PlanOp
    int32_t num_cores;     // 1 .. MAX_CORES
    int32_t num_rows;      // list rows
    int32_t tile_tokens;   // QSI_TILE_TOKENS or SFAA_TILE_TOKENS
    int32_t used_cores;    // cores with at least one tile
    int32_t num_merges;    // rows cut by a boundary, < num_cores
    int32_t merge_slices;  // units per merge, of MERGE_SLICE_ROWS query rows
    int32_t reserved[7];
    int32_t row_begin[MAX_CORES + 1];
    int32_t tile_begin[MAX_CORES + 1];
    int32_t merge_row[MAX_CORES];
    int32_t merge_first_slot[MAX_CORES];
    int32_t merge_num_parts[MAX_CORES];
    int32_t merge_unit_begin[2 * MAX_CORES +
                             1];  // vector core v merges units [v, v+1); unit = merge * slices + slice
    int32_t unused[45];
};

static_assert(std::is_trivially_copyable_v<Plan>);
static_assert(sizeof(Plan) == PLAN_WORDS * sizeof(int32_t), "the plan is PLAN_WORDS int32 words");
static_assert(offsetof(Plan, row_begin) == 16 * sizeof(int32_t), "header is 16 words");

}  // namespace sals
