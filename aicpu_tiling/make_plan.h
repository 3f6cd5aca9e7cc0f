// SPDX-License-Identifier: Apache-2.0
// make_plan.h - plans for the operators: a checked problem and the lengths in, plan out.
#pragma once
#include <cstdint>
#include <vector>

#include "sals/plan_problem.h"
#include "sals/request_rows.h"

namespace sals {

// The rules that only the data can break: lengths, token offsets, and that rows can be numbered.
Status check_plan_values(const char* op, const PlanProblem& problem, const RequestTensors& request);

// Work of each token row: tokens to score (qsi), or listed tokens (sfaa; in coverage mode at most that many).
std::vector<int64_t> row_tokens(const PlanProblem& problem, const RequestTensors& request);

// Query vectors that share a list row.
int64_t list_query_rows(const PlanProblem& problem);

// The plan of a problem whose lengths passed check_plan_values().
Plan make_plan(const PlanProblem& problem, const RequestTensors& request);

}  // namespace sals
