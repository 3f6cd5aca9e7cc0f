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

int64_t num_token_rows(const PlanProblem& problem, const int32_t* query_start_loc) {
    return problem.layout == QueryLayout::TND ? query_start_loc[problem.batch]
                                              : problem.batch * problem.s_list;
}

std::string at(const char* name, int64_t b) { return std::string(name) + "[" + std::to_string(b) + "]"; }

}  // namespace

Status check_lengths(const char* op, const PlanProblem& problem, const int32_t* query_lens,
                     const int32_t* query_start_loc) {
    Checker check(op);
    for (int64_t b = 0; b < problem.batch && check.ok(); ++b) {
        if (query_lens != nullptr) {
            // With one query row per request, which stands for its newest token, any length is legal.
            check.range(at("query_lens", b).c_str(), query_lens[b], 0,
                        problem.s_q == 1 ? INT32_MAX : problem.s_q);
        }
        if (query_start_loc != nullptr) {
            check.require(query_start_loc[b] <= query_start_loc[b + 1],
                          "query_start_loc must ascend, got " + std::to_string(query_start_loc[b]) + " and " +
                              std::to_string(query_start_loc[b + 1]) + " at " + std::to_string(b));
        }
    }
    if (query_start_loc != nullptr) {
        check.require(query_start_loc[0] == 0,
                      "query_start_loc must start at 0, got " + std::to_string(query_start_loc[0]));
    }
    if (!check.ok()) return check.status();
    const int64_t rows = num_token_rows(problem, query_start_loc) * problem.heads;
    check.require(rows <= INT32_MAX, "the batch must have at most " + std::to_string(INT32_MAX) +
                                         " list rows, got " + std::to_string(rows));
    const int64_t units = (problem.num_cores - 1) * ceil_div(list_query_rows(problem), MERGE_SLICE_ROWS);
    check.require(units <= INT32_MAX, "group and s_q must leave at most " + std::to_string(INT32_MAX) +
                                          " units to merge, got " + std::to_string(units));
    return check.status();
}

std::vector<int64_t> row_tokens(const PlanProblem& problem, const int32_t* seq_lens,
                                const int32_t* query_lens, const int32_t* query_start_loc) {
    std::vector<int64_t> tokens(num_token_rows(problem, query_start_loc));
    size_t row = 0;
    for (int64_t b = 0; b < problem.batch; ++b) {
        int64_t count = problem.s_list;
        int64_t q_len = problem.s_list;
        if (problem.layout == QueryLayout::TND) {
            count = q_len = query_start_loc[b + 1] - query_start_loc[b];
        } else if (query_lens != nullptr) {
            q_len = smaller(int64_t{query_lens[b]}, count);  // one list per request is the newest token's
        }
        for (int64_t s = 0; s < count; ++s) {
            tokens[row++] = work_tokens(problem.op, visible_tokens(seq_lens[b], q_len, s), problem.selection);
        }
    }
    return tokens;
}

int64_t list_query_rows(const PlanProblem& problem) {
    if (problem.op == PlanOp::QSI) return 1;
    const bool is_shared = problem.layout == QueryLayout::BSND && problem.s_list == 1;
    return problem.group * (is_shared ? problem.s_q : 1);
}

Plan make_plan(const PlanProblem& problem, const int32_t* seq_lens, const int32_t* query_lens,
               const int32_t* query_start_loc) {
    const std::vector<int64_t> tokens = row_tokens(problem, seq_lens, query_lens, query_start_loc);
    return plan_rows(problem.op, static_cast<int32_t>(problem.num_cores), problem.heads, tokens.data(),
                     static_cast<int64_t>(tokens.size()), list_query_rows(problem));
}

}  // namespace sals
