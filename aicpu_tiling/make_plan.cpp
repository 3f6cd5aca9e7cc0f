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
    RequestAxis axis;
    axis.layout = p.layout;
    axis.batch = p.batch;
    axis.s_q = p.s_q;
    axis.tokens = p.layout == QueryLayout::TND ? request.query_start_loc[p.batch] : p.batch * p.s_list;
    axis.max_query_len = p.op == PlanOp::QSI && p.s_q == 1 ? INT32_MAX : p.s_q;
    return axis;
}

}  // namespace

Status check_plan_values(const char* op, const PlanProblem& problem, const RequestTensors& request) {
    Checker check(op);
    const RequestAxis axis = planned_axis(problem, request);
    check_lengths(check, axis, request, problem.max_seq_len, "max_seq_len");
    // Within these limits costs and merge units stay inside their integers.
    check.range("list rows (query tokens * heads)", axis.tokens * problem.heads, 0, MAX_LIST_ROWS);
    check.range("query rows of a list (group * query tokens)", list_query_rows(problem), 1, MAX_QUERY_ROWS);
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
