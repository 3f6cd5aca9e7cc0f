// SPDX-License-Identifier: Apache-2.0
#include "aicpu/plan_task.h"

#include <cstring>

#include "aicpu/task_call.h"
#include "cust_cpu_utils.h"
#include "make_plan.h"
#include "sals/read_calls.h"

namespace sals::aicpu_task {
namespace {

using aicpu::CustCpuKernelUtils;  // the log macro names it bare

constexpr uint32_t DONE = 0;
constexpr uint32_t INVALID = 1;

// The host has put the number of cores in: an AI CPU does not know it.
Status read_problem(const char* op, PlanOp kind, const TaskCall& call, PlanProblem& problem) {
    const Status status = validate(op, kind, 0, read_plan(call), problem);
    if (!status.ok()) return status;
    Checker check(op);
    check.range("num_cores of an AI CPU task", problem.num_cores, 1, MAX_CORES);
    check.require(call.plan() != nullptr, "plan must have " + std::to_string(PLAN_WORDS) + " words");
    return check.status();
}

}  // namespace

uint32_t run(const char* op, PlanOp kind, aicpu::CpuKernelContext& context) {
    const TaskCall call(context);
    PlanProblem problem;
    Status status = read_problem(op, kind, call, problem);
    if (status.ok()) status = check_plan_values(op, problem, call.request());
    if (!status.ok()) {
        CUST_KERNEL_LOG_ERROR(context, "%s", status.text.c_str());
        return INVALID;
    }
    const Plan made = make_plan(problem, call.request());
    std::memcpy(call.plan(), &made, sizeof(made));
    return DONE;
}

}  // namespace sals::aicpu_task
