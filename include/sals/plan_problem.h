// SPDX-License-Identifier: Apache-2.0
// plan_problem.h - the calls that make a plan, and the check of a plan that came with a call. Host only.
#pragma once
#include <string>

#include "sals/plan.h"
#include "sals/request_axis.h"
#include "sals/selection_rules.h"

namespace sals {

struct PlanArgs {
    RequestArgs request;  // its plan is the one to write, which only aclnn functions are given
    SelectionArgs selection;
    int64_t heads = 0;  // n_idx of the indexer, n_kv of the attention
    int64_t group = 1;  // query heads per KV head; 1 for the indexer
    int64_t s_q = 1;
    bool shared_list = false;
    int64_t num_cores = 0;  // 0: as many as the device has
};

struct PlanProblem {
    PlanOp op = PlanOp::QSI;
    QueryLayout layout = QueryLayout::BSND;
    int64_t batch = 0;
    int64_t heads = 0;
    int64_t group = 1;
    int64_t s_q = 1;        // query tokens per request in BSND
    int64_t s_list = 1;     // list rows per request in BSND: s_q or 1
    int64_t num_cores = 0;  // > 0
    int64_t max_seq_len = 0;
    SelectionParams selection;
    int64_t tile_tokens() const { return op == PlanOp::QSI ? QSI_TILE_TOKENS : SFAA_TILE_TOKENS; }
};

inline void check_types(Checker& check, const PlanArgs& a) {
    const auto layout = check_query_layout(check, a.request.query_layout);
    if (!check.ok()) return;
    check_request_types(check, a.request, a.request.seq_lens, *layout);
}

inline Status validate(const char* op, PlanOp kind, int64_t device_cores, const PlanArgs& a,
                       PlanProblem& out) {
    Checker check(op);
    check_types(check, a);
    if (!check.ok()) return check.status();
    out.op = kind;
    out.layout = *value_named(QUERY_LAYOUTS, a.request.query_layout);
    out.batch = a.request.seq_lens.shape[0];
    out.selection = check_selection(check, a.selection);
    check.shape(a.request.query_lens, "[batch]", {out.batch});
    check.shape(a.request.query_start_loc, "[batch + 1]", {out.batch + 1});
    check.range(kind == PlanOp::QSI ? "n_idx" : "n_kv", a.heads, 1, 1 << 16);
    check.range("group", a.group, 1, 1 << 16);
    check.range("s_q", a.s_q, 1, 1 << 16);
    check.range("num_cores", a.num_cores, 0, MAX_CORES);
    check.require(!a.shared_list || out.layout == QueryLayout::BSND,
                  "shared_list must be False with query_layout TND, got True");
    out.max_seq_len = a.selection.max_seq_len;
    out.heads = a.heads;
    out.group = a.group;
    out.s_q = a.s_q;
    out.s_list = a.shared_list ? 1 : a.s_q;
    out.num_cores = a.num_cores > 0 ? a.num_cores : smaller(device_cores, MAX_CORES);
    return check.status();
}

// What an aclnn function asks besides: the inputs side by side in memory, and room for the plan.
inline Status check_plan_memory(const char* op, const RequestArgs& r) {
    Checker check(op);
    check.present(r.plan);
    check.dtype(r.plan, {DType::INT32});
    check.shape(r.plan, "[plan_words]", {PLAN_WORDS});
    for (const TensorSpec* t : {&r.seq_lens, &r.query_lens, &r.query_start_loc, &r.plan})
        check.contiguous(*t);
    return check.status();
}

// Whether the words of a plan can be followed for a call with `num_rows` list rows, of which those from
// `live_rows` on belong to no request (TND padding) and need no plan. Devices trust a plan that the planner
// made; the CPU backend checks each one.
inline Status validate_plan(const char* op, const Plan& plan, PlanOp kind, int64_t num_rows,
                            int64_t live_rows) {
    Checker check(op);
    const int64_t tile = kind == PlanOp::QSI ? QSI_TILE_TOKENS : SFAA_TILE_TOKENS;
    const auto word = [&check](const char* what, int64_t value, int64_t expected) {
        check.require(value == expected, std::string("plan must have ") + what + " " +
                                             std::to_string(expected) + ", got " + std::to_string(value));
    };
    word("the magic word", plan.magic, PLAN_MAGIC);
    word("version", plan.version, PLAN_VERSION);
    word(kind == PlanOp::QSI ? "the op of qsi_plan," : "the op of sfaa_plan,", plan.op,
         static_cast<int64_t>(kind));
    word("tile_tokens", plan.tile_tokens, tile);
    check.require(plan.num_rows >= live_rows && plan.num_rows <= num_rows,
                  "plan must cover the " + std::to_string(live_rows) +
                      " list rows of the call, got a plan for " + std::to_string(plan.num_rows));
    check.range("plan num_cores", plan.num_cores, 1, MAX_CORES);
    if (!check.ok()) return check.status();
    const int32_t cores = plan.num_cores;
    const int32_t rows = plan.num_rows;
    bool ordered = plan.row_begin[0] == 0 && plan.tile_begin[0] == 0 && plan.row_begin[cores] == rows &&
                   plan.tile_begin[cores] == 0;
    for (int32_t i = 0; i < cores && ordered; ++i) {
        const bool forward =
            plan.row_begin[i] < plan.row_begin[i + 1] ||
            (plan.row_begin[i] == plan.row_begin[i + 1] && plan.tile_begin[i] <= plan.tile_begin[i + 1]);
        ordered = forward && plan.tile_begin[i] >= 0 && plan.row_begin[i] <= rows;
    }
    check.require(ordered, "plan must have core boundaries that ascend from the first row to the last");
    return check.status();
}

}  // namespace sals
