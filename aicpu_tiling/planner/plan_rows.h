// SPDX-License-Identifier: Apache-2.0
// plan_rows.h - the planner: work of every row in, plan out.
#pragma once
#include <cstdint>

#include "sals/plan.h"

namespace sals {

// tokens [token_rows]: scored tokens (the indexer) or listed tokens (attention) of each token row, the same
// for all its heads; list row = token_row * heads + head. query_rows: query vectors that share a list row.
// num_cores is in 1 .. MAX_CORES; token_rows * heads and the merge units must fit an int32.
Plan plan_rows(PlanOp op, int32_t num_cores, int64_t heads, const int64_t* tokens, int64_t token_rows,
               int64_t query_rows);

}  // namespace sals
