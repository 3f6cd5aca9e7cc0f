// SPDX-License-Identifier: Apache-2.0
// qsi_split.h - the plan of a call that came without one.
#pragma once
#include <vector>

#include "cpu/request_rows.h"
#include "sals/plan.h"
#include "sals/qsi_problem.h"

namespace sals::cpu {

// Divides the candidate tiles of all rows over `cores` cores (at most MAX_CORES are used), evenly.
Plan split_rows(const QsiProblem& problem, const std::vector<TokenRow>& tokens, int64_t cores);

}  // namespace sals::cpu
