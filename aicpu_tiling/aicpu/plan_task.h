// SPDX-License-Identifier: Apache-2.0
// plan_task.h - makes the plan of a task, or says in the task's log why not.
#pragma once
#include "cpu_context.h"
#include "sals/plan.h"

namespace sals::aicpu_task {

// The status that an AI CPU kernel returns; any but 0 ends the stream's work with an error.
uint32_t run(const char* op, PlanOp kind, aicpu::CpuKernelContext& context);

}  // namespace sals::aicpu_task
