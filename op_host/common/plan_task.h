// SPDX-License-Identifier: Apache-2.0
// plan_task.h - the first phase of a plan: an executor with one AI CPU task.
#pragma once
#include "common/plan_api.h"
#include "opdev/aicpu/aicpu_task.h"
#include "opdev/make_op_executor.h"
#include "opdev/op_dfx.h"
#include "opdev/op_executor.h"
#include "opdev/op_log.h"

namespace sals::host {

using AddTask = aclnnStatus (*)(const PlanTensors& tensors, const PlanArgs& args, aclOpExecutor* executor);

// Checks a call and makes an executor, to which `add_task` adds the task. A call without a query layout has
// the default one.
inline aclnnStatus prepare_plan(const char* op, PlanOp kind, const PlanTensors& tensors, PlanArgs args,
                                const char* query_layout, AddTask add_task, uint64_t* workspace_bytes,
                                aclOpExecutor** executor) {
    if (query_layout != nullptr) args.request.query_layout = query_layout;
    const aclnnStatus checked = check_plan_call(op, kind, tensors, args);
    if (checked != ACLNN_SUCCESS) return checked;
    auto made = CREATE_EXECUTOR();
    if (made.get() == nullptr) return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    const aclnnStatus added = add_task(tensors, args, made.get());
    if (added != ACLNN_SUCCESS) return added;
    *workspace_bytes = made->GetWorkspaceSize();
    made.ReleaseTo(executor);
    return ACLNN_SUCCESS;
}

}  // namespace sals::host
