// SPDX-License-Identifier: Apache-2.0
// make_plan.h - plans for the operators: a checked problem and the lengths in, plan out.
#pragma once
#include <cstdint>
#include <vector>

#include "sals/plan_problem.h"

namespace sals {

// The rules that only the data can break: query lengths, token offsets, and that rows can be numbered.
// query_lens and query_start_loc may be null.
Status check_lengths(const char* op, const PlanProblem& problem, const int32_t* query_lens,
                     const int32_t* query_start_loc);

// Work of each token row: tokens to score (qsi), or listed tokens (sfaa; in coverage mode at most that many).
std::vector<int64_t> row_tokens(const PlanProblem& problem, const int32_t* seq_lens,
                                const int32_t* query_lens, const int32_t* query_start_loc);

// Query vectors that share a list row.
int64_t list_query_rows(const PlanProblem& problem);

// The plan of a problem whose lengths passed check_lengths().
Plan make_plan(const PlanProblem& problem, const int32_t* seq_lens, const int32_t* query_lens,
               const int32_t* query_start_loc);

}  // namespace sals
