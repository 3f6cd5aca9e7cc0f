// SPDX-License-Identifier: Apache-2.0
// plan_task.h - the end of a plan's first phase: an executor with one AI CPU task.
#pragma once
#include "common/plan_api.h"
#include "opdev/aicpu/aicpu_task.h"
#include "opdev/make_op_executor.h"
#include "opdev/op_dfx.h"
#include "opdev/op_executor.h"
#include "opdev/op_log.h"

namespace sals::host {

// `add_task(executor)` puts the task into the executor.
template <class AddTask>
aclnnStatus make_executor(const AddTask& add_task, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    auto made = CREATE_EXECUTOR();
    if (made.get() == nullptr) return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    const aclnnStatus added = add_task(made.get());
    if (added != ACLNN_SUCCESS) return added;
    *workspace_bytes = made->GetWorkspaceSize();
    made.ReleaseTo(executor);
    return ACLNN_SUCCESS;
}

}  // namespace sals::host
