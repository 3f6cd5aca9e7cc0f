// SPDX-License-Identifier: Apache-2.0
// plan_api.h - what the aclnn functions of both plans share. They are written by hand: the functions that
// CANN generates launch AI Core kernels, and only the host knows how many cores the AI CPU shall plan for.
#pragma once
#include "aclnn/aclnn_base.h"
#include "common/selection_attributes.h"
#include "sals/plan_problem.h"

namespace sals::host {

struct PlanTensors {
    const aclTensor* seq_lens;
    const aclTensor* query_lens;       // or null
    const aclTensor* query_start_loc;  // or null
    const aclTensor* plan;
};

// Checks a call, whose tensors `args` need not have yet; `args` then says for how many cores to plan. The
// error is in CANN's log.
aclnnStatus check_plan_call(const char* op, PlanOp kind, const PlanTensors& tensors, PlanArgs& args);

}  // namespace sals::host
