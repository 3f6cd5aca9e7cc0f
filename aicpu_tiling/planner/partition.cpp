// SPDX-License-Identifier: Apache-2.0
// partition.cpp - for a given limit the greedy division, each core taking all it can, needs the fewest
// cores: taking more never makes the rest dearer. So the best limit is found by bisection.
#include "planner/partition.h"

#include <algorithm>

namespace sals {
namespace {

bool is_feasible(const RowTable& rows, int32_t num_cores, int64_t limit, bool may_cut) {
    Position at;
    for (int32_t i = 0; i < num_cores; ++i) at = rows.advance(limit, at, may_cut);
    return at == rows.end();
}

// The smallest feasible limit in [lowest, feasible], of which `feasible` is known to be one.
int64_t smallest_limit(const RowTable& rows, int32_t num_cores, int64_t lowest, int64_t feasible,
                       bool may_cut) {
    while (lowest < feasible) {
        const int64_t middle = lowest + (feasible - lowest) / 2;
        if (is_feasible(rows, num_cores, middle, may_cut)) {
            feasible = middle;
        } else {
            lowest = middle + 1;
        }
    }
    return feasible;
}

}  // namespace

Partition cut_partition(const RowTable& rows, int32_t num_cores) {
    const CostModel& m = rows.model();
    const int64_t lowest =
        std::max(ceil_div(rows.total_cycles(), int64_t{num_cores}), rows.largest_quantum());
    // A core stops short of its limit by less than one row of one tile, and a piece that continues a row
    // starts once more.
    const int64_t slack =
        m.start_cycles + std::max(m.floor_cycles, m.start_cycles + m.tile_cycles + m.finish_cycles);
    Partition partition;
    partition.num_cores = num_cores;
    partition.limit = smallest_limit(rows, num_cores, lowest, lowest + slack, true);

    // From `earliest[i]` on, the cores i, i + 1, ... can finish. Within that freedom a boundary moves back
    // to the start of the row that it would cut.
    std::array<Position, MAX_CORES + 1> earliest{};
    earliest[num_cores] = rows.end();
    for (int32_t i = num_cores - 1; i > 0; --i) {
        earliest[i] = rows.retreat(partition.limit, earliest[i + 1]);
    }
    for (int32_t i = 0; i < num_cores; ++i) {
        const Position& from = partition.boundaries[i];
        Position to = rows.advance(partition.limit, from, true);
        const Position row_start{to.token_row, to.head, 0};
        if (from < row_start && !(row_start < earliest[i + 1])) to = row_start;
        partition.boundaries[i + 1] = to;
    }
    return partition;
}

Partition whole_partition(const RowTable& rows, int32_t num_cores, int64_t lowest, int64_t highest) {
    Partition partition;
    if (!is_feasible(rows, num_cores, highest, false)) return partition;
    partition.num_cores = num_cores;
    partition.limit = smallest_limit(rows, num_cores, lowest, highest, false);
    for (int32_t i = 0; i < num_cores; ++i) {
        partition.boundaries[i + 1] = rows.advance(partition.limit, partition.boundaries[i], false);
    }
    return partition;
}

}  // namespace sals
