// SPDX-License-Identifier: Apache-2.0
#include "make_plan.h"

#include "planner/plan_rows.h"

namespace sals {
namespace {

int64_t work_tokens(PlanOp op, int64_t visible, const SelectionParams& p) {
    const BlockRange candidates = candidate_blocks(visible, p);
    const int64_t n = candidates.end - candidates.begin;
    if (op == PlanOp::QSI) return n * p.block_size;  // the partial block is in the tail, never a candidate
    return selected_tokens(visible, max_selected_candidates(n, p), p);
}

// The axes of the query that the plan is for; in TND the tokens up to the last that belongs to a request.
RequestAxis planned_axis(const PlanProblem& p, const RequestTensors& request) {
    const bool tnd = p.layout == QueryLayout::TND;
    return {p.layout, p.batch, p.s_q, tnd ? request.query_start_loc[p.batch] : p.batch * p.s_list};
}

}  // namespace

Status check_plan_values(const char* op, const PlanProblem& problem, const RequestTensors& request) {
    Checker check(op);
    const RequestAxis axis = planned_axis(problem, request);
    check_lengths(check, axis, request, problem.max_seq_len, "max_seq_len");
    const int64_t rows = axis.tokens * problem.heads;
    check.require(rows <= INT32_MAX, "the batch must have at most " + std::to_string(INT32_MAX) +
                                         " list rows, got " + std::to_string(rows));
    const int64_t units = (problem.num_cores - 1) * ceil_div(list_query_rows(problem), MERGE_SLICE_ROWS);
    check.require(units <= INT32_MAX, "group and s_q must leave at most " + std::to_string(INT32_MAX) +
                                          " units to merge, got " + std::to_string(units));
    return check.status();
}

std::vector<int64_t> row_tokens(const PlanProblem& problem, const RequestTensors& request) {
    std::vector<int64_t> tokens;
    for (const TokenRow& row : token_rows(planned_axis(problem, request), request, problem.s_list)) {
        tokens.push_back(work_tokens(problem.op, row.visible(), problem.selection));
    }
    return tokens;
}

int64_t list_query_rows(const PlanProblem& problem) {
    if (problem.op == PlanOp::QSI) return 1;
    const bool is_shared = problem.layout == QueryLayout::BSND && problem.s_list == 1;
    return problem.group * (is_shared ? problem.s_q : 1);
}

Plan make_plan(const PlanProblem& problem, const RequestTensors& request) {
    const std::vector<int64_t> tokens = row_tokens(problem, request);
    return plan_rows(problem.op, static_cast<int32_t>(problem.num_cores), problem.heads, tokens.data(),
                     static_cast<int64_t>(tokens.size()), list_query_rows(problem));
}

}  // namespace sals
