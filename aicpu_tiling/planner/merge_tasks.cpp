// SPDX-License-Identifier: Apache-2.0
#include "planner/merge_tasks.h"

#include <algorithm>

namespace sals {
namespace {

// A boundary inside a row ends one part and begins the next. No two are equal: a core that starts inside a
// row has tiles.
void list_cut_rows(Plan& plan) {
    int32_t slot = 0;
    for (int32_t i = 1; i < plan.num_cores; ++i) {
        if (plan.tile_begin[i] == 0) continue;
        const int32_t last = plan.num_merges - 1;
        if (last >= 0 && plan.merge_row[last] == plan.row_begin[i]) {
            ++plan.merge_num_parts[last];
            ++slot;
            continue;
        }
        plan.merge_row[plan.num_merges] = plan.row_begin[i];
        plan.merge_first_slot[plan.num_merges] = slot;
        plan.merge_num_parts[plan.num_merges] = 2;
        ++plan.num_merges;
        slot += 2;
    }
}

struct UnitCursor {
    int32_t merge = 0;
    int32_t slice = 0;
};

// How far one vector core gets that merges at most `limit` parts.
UnitCursor take_units(const Plan& plan, UnitCursor at, int64_t limit) {
    while (at.merge < plan.num_merges) {
        const int32_t parts = plan.merge_num_parts[at.merge];
        const int64_t slices = std::min<int64_t>(limit / parts, plan.merge_slices - at.slice);
        at.slice += static_cast<int32_t>(slices);
        limit -= slices * parts;
        if (at.slice < plan.merge_slices) return at;
        at = {at.merge + 1, 0};
    }
    return at;
}

bool is_enough(const Plan& plan, int64_t limit) {
    UnitCursor at;
    for (int32_t v = 0; v < 2 * plan.num_cores; ++v) at = take_units(plan, at, limit);
    return at.merge == plan.num_merges;
}

}  // namespace

int64_t fill_merges(int64_t query_rows, Plan& plan) {
    list_cut_rows(plan);
    plan.merge_slices = static_cast<int32_t>(ceil_div(query_rows, MERGE_SLICE_ROWS));
    if (plan.num_merges == 0) return 0;
    int64_t total = 0;
    int64_t largest = 0;
    for (int32_t m = 0; m < plan.num_merges; ++m) {
        total += int64_t{plan.merge_num_parts[m]} * plan.merge_slices;
        largest = std::max<int64_t>(largest, plan.merge_num_parts[m]);
    }
    int64_t limit = std::max(ceil_div(total, int64_t{2} * plan.num_cores), largest);
    while (!is_enough(plan, limit)) ++limit;  // at most `largest` steps: a unit never needs more room
    UnitCursor at;
    for (int32_t v = 0; v < 2 * plan.num_cores; ++v) {
        at = take_units(plan, at, limit);
        plan.merge_unit_begin[v + 1] = at.merge * plan.merge_slices + at.slice;
    }
    return limit;
}

}  // namespace sals
