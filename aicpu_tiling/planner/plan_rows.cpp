// SPDX-License-Identifier: Apache-2.0
#include "planner/plan_rows.h"

#include <algorithm>

#include "planner/merge_tasks.h"
#include "planner/partition.h"

namespace sals {
namespace {

Plan plan_of(const Partition& partition, const RowTable& rows, PlanOp op) {
    Plan plan{};
    plan.magic = PLAN_MAGIC;
    plan.version = PLAN_VERSION;
    plan.op = static_cast<int32_t>(op);
    plan.num_cores = partition.num_cores;
    plan.num_rows = static_cast<int32_t>(rows.num_rows());
    plan.tile_tokens = static_cast<int32_t>(rows.model().tile_tokens);
    for (int32_t i = 0; i <= partition.num_cores; ++i) {
        const Position& at = partition.boundaries[i];
        plan.row_begin[i] = static_cast<int32_t>(at.token_row * rows.heads() + at.head);
        plan.tile_begin[i] = static_cast<int32_t>(at.tile);
    }
    return plan;
}

bool has_tiles(const RowTable& rows, const Position& begin, const Position& end) {
    if (begin == end) return false;
    if (begin.tile > 0 || end.tile > 0) return true;
    const int64_t stop = end.head > 0 ? end.token_row + 1 : end.token_row;
    for (int64_t t = begin.token_row; t < stop; ++t) {
        if (rows.tokens({t, 0, 0}) > 0) return true;
    }
    return false;
}

void count_used_cores(const Partition& partition, const RowTable& rows, Plan& plan) {
    for (int32_t i = 0; i < partition.num_cores; ++i) {
        if (has_tiles(rows, partition.boundaries[i], partition.boundaries[i + 1])) ++plan.used_cores;
    }
}

int64_t longest_cut_row(const Partition& partition, const RowTable& rows) {
    int64_t tokens = 0;
    for (const Position& at : partition.boundaries) {
        if (at.tile > 0) tokens = std::max(tokens, rows.tokens(at));
    }
    return tokens;
}

}  // namespace

Plan plan_rows(PlanOp op, int32_t num_cores, int64_t heads, const int64_t* tokens, int64_t token_rows,
               int64_t query_rows) {
    const RowTable rows(cost_model(op, query_rows), heads, tokens, token_rows);
    const Partition cut = cut_partition(rows, num_cores);
    Plan plan = plan_of(cut, rows, op);
    const int64_t unit_parts = fill_merges(query_rows, plan);
    count_used_cores(cut, rows, plan);
    if (plan.num_merges == 0) return plan;

    // Without cuts there is no merge step; the slowest core may take that much longer.
    const int64_t merging = merge_cycles(op, unit_parts, longest_cut_row(cut, rows));
    const Partition whole = whole_partition(rows, num_cores, cut.limit, cut.limit + merging);
    if (whole.num_cores == 0) return plan;
    plan = plan_of(whole, rows, op);
    fill_merges(query_rows, plan);
    count_used_cores(whole, rows, plan);
    return plan;
}

}  // namespace sals
