// SPDX-License-Identifier: Apache-2.0
// merge_tasks.h - the rows that core boundaries cut, and who merges them.
#pragma once
#include <cstdint>

#include "sals/plan.h"

namespace sals {

// Fills the merges of a plan whose boundaries stand, and divides their units over the vector cores.
// Returns the most parts that one vector core merges.
int64_t fill_merges(int64_t query_rows, Plan& plan);

}  // namespace sals
