// SPDX-License-Identifier: Apache-2.0
// plan.cpp - aclnnSalsQsiPlan and aclnnSalsSfaaPlan: the planner, as an AI CPU runs it.
#include <cstring>

#include "acl/runtime.h"
#include "make_plan.h"
#include "opapi/two_phase.h"
#include "operators/aclnn_sals.h"
#include "operators/arguments.h"
#include "qsi_plan/signature.h"
#include "sfaa_plan/signature.h"

namespace sals::npu {
namespace {

const int32_t* words_of(const aclTensor* tensor) {
    return tensor == nullptr ? nullptr : reinterpret_cast<const int32_t*>(window(tensor->data()));
}

struct PlanTensors {
    const aclTensor *seq_lens, *query_lens, *query_start_loc, *plan;
};

int prepare_plan(const char* name, const char* op, PlanOp kind, const PlanTensors& t, PlanArgs args,
                 const char* query_layout, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    args.request = request_of(t.seq_lens, t.query_lens, t.query_start_loc, query_layout);
    args.request.plan = spec_of("plan", t.plan);
    PlanProblem problem;
    Status status = validate(op, kind, core_count(), args, problem);
    if (status.ok()) status = check_plan_memory(op, args.request);
    if (!status.ok()) return refuse(status);
    RequestTensors request;
    request.seq_lens = words_of(t.seq_lens);
    request.query_lens = words_of(t.query_lens);
    request.query_start_loc = words_of(t.query_start_loc);
    uint8_t* plan = window(t.plan->data());
    const auto run = [op, problem, request, plan](uint8_t*) -> Outcome {
        const Status values = check_plan_values(op, problem, request);
        if (!values.ok()) return {ACL_ERROR_RT_AICPU_EXCEPTION, values.text};
        const Plan made = make_plan(problem, request);
        std::memcpy(plan, &made, sizeof(made));
        return {};
    };
    return first_phase({name, 0, run}, workspace_bytes, executor);
}

}  // namespace
}  // namespace sals::npu

extern "C" int aclnnSalsQsiPlanGetWorkspaceSize(const aclTensor* seq_lens, const aclTensor* query_lens,
                                                const aclTensor* query_start_loc, int64_t n_idx, int64_t s_q,
                                                int64_t max_seq_len, int64_t block_size, int64_t keep_num,
                                                int64_t keep_den, int64_t min_blocks, int64_t max_blocks,
                                                double coverage, int64_t sink_blocks, int64_t tail_blocks,
                                                char* query_layout, int64_t num_cores, const aclTensor* plan,
                                                uint64_t* workspace_bytes, aclOpExecutor** executor) {
    sals::PlanArgs args;
    args.selection = sals::host::selection_of(max_seq_len, block_size, keep_num, keep_den, min_blocks,
                                              max_blocks, coverage, sink_blocks, tail_blocks);
    args.heads = n_idx;
    args.s_q = s_q;
    args.num_cores = num_cores;
    return sals::npu::prepare_plan("aclnnSalsQsiPlan", sals::host::QSI_PLAN.op, sals::PlanOp::QSI,
                                   {seq_lens, query_lens, query_start_loc, plan}, args, query_layout,
                                   workspace_bytes, executor);
}

extern "C" int aclnnSalsSfaaPlanGetWorkspaceSize(const aclTensor* seq_lens, const aclTensor* query_lens,
                                                 const aclTensor* query_start_loc, int64_t n_kv,
                                                 int64_t group, int64_t s_q, bool shared_list,
                                                 int64_t max_seq_len, int64_t block_size, int64_t keep_num,
                                                 int64_t keep_den, int64_t min_blocks, int64_t max_blocks,
                                                 double coverage, int64_t sink_blocks, int64_t tail_blocks,
                                                 char* query_layout, int64_t num_cores, const aclTensor* plan,
                                                 uint64_t* workspace_bytes, aclOpExecutor** executor) {
    sals::PlanArgs args;
    args.selection = sals::host::selection_of(max_seq_len, block_size, keep_num, keep_den, min_blocks,
                                              max_blocks, coverage, sink_blocks, tail_blocks);
    args.heads = n_kv;
    args.group = group;
    args.s_q = s_q;
    args.shared_list = shared_list;
    args.num_cores = num_cores;
    return sals::npu::prepare_plan("aclnnSalsSfaaPlan", sals::host::SFAA_PLAN.op, sals::PlanOp::SFAA,
                                   {seq_lens, query_lens, query_start_loc, plan}, args, query_layout,
                                   workspace_bytes, executor);
}

SALS_SECOND_PHASE(aclnnSalsQsiPlan)
SALS_SECOND_PHASE(aclnnSalsSfaaPlan)
