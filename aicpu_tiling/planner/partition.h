// SPDX-License-Identifier: Apache-2.0
// partition.h - divides the tiles of all rows, in order, over the cores: the slowest core as fast as
// possible, and no row cut without need.
#pragma once
#include <array>

#include "planner/row_table.h"

namespace sals {

struct Partition {
    std::array<Position, MAX_CORES + 1> boundaries{};  // core i works from [i] to [i + 1]
    int32_t num_cores = 0;
    int64_t limit = 0;  // no core takes longer, in cycles
};

// The partition with the smallest possible limit; rows may be cut between tiles.
Partition cut_partition(const RowTable& rows, int32_t num_cores);

// The best partition that cuts no row, if its limit is in [lowest, highest]; num_cores is 0 if there is none.
Partition whole_partition(const RowTable& rows, int32_t num_cores, int64_t lowest, int64_t highest);

}  // namespace sals
