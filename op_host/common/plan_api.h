// SPDX-License-Identifier: Apache-2.0
// plan_api.h - what the aclnn functions of both plans share. They are written by hand: the functions that
// CANN generates launch AI Core kernels, and only the host knows how many cores the AI CPU shall plan for.
#pragma once
#include "aclnn/aclnn_base.h"
#include "sals/plan_problem.h"

namespace sals::host {

struct PlanTensors {
    const aclTensor* seq_lens;
    const aclTensor* query_lens;       // or null
    const aclTensor* query_start_loc;  // or null
    const aclTensor* plan;
};

// The selection as the aclnn functions take it, in their order.
SelectionArgs selection_of(int64_t max_seq_len, int64_t block_size, int64_t keep_num, int64_t keep_den,
                           int64_t min_blocks, int64_t max_blocks, double coverage, int64_t sink_blocks,
                           int64_t tail_blocks);

// Checks the call; `problem` then says for how many cores to plan. The error is in CANN's log.
aclnnStatus check_plan_call(const char* op, PlanOp kind, const PlanTensors& tensors, PlanArgs args,
                            const char* query_layout, PlanProblem& problem);

}  // namespace sals::host
