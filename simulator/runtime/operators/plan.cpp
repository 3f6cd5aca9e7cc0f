// SPDX-License-Identifier: Apache-2.0
// plan.cpp - aclnnSalsQsiPlan and aclnnSalsSfaaPlan: a task for the AI CPU kernel that is registered for the
// operator.
#include <typeinfo>

#include "acl/runtime.h"
#include "cpu_kernel.h"
#include "opapi/two_phase.h"
#include "operators/aclnn_sals.h"
#include "operators/call.h"
#include "operators/names.h"
#include "qsi_plan/signature.h"
#include "sals/read_calls.h"
#include "sfaa_plan/signature.h"

namespace aicpu {
namespace {

std::map<std::string, Creator>& kernels() {
    static std::map<std::string, Creator> all;
    return all;
}

}  // namespace

bool RegistCpuKernel(const std::string& type, const Creator& creator) {
    return kernels().emplace(type, creator).second;
}

}  // namespace aicpu

namespace sals::npu {
namespace {

using Task = aicpu::CpuKernelContext;

std::shared_ptr<aicpu::Tensor> tensor_of(const aclTensor& tensor) {
    return std::make_shared<aicpu::Tensor>(window(tensor.data()), tensor.shape,
                                           static_cast<aicpu::DataType>(tensor.dtype));
}

// Inputs that the call leaves out are not in the task.
Task task_of(const Call& call, int64_t num_cores) {
    Task task;
    for (const aclTensor* input : call.inputs) {
        if (input != nullptr) task.inputs.push_back(tensor_of(*input));
    }
    task.outputs.push_back(tensor_of(*call.outputs.front()));
    for (size_t i = 0; i < call.attributes.size(); ++i) {
        task.attributes[call.signature.attributes.first[i].name] = call.attributes[i].visit(
            [](const auto& value) { return std::make_shared<aicpu::AttrValue>(value); });
    }
    task.attributes["num_cores"] = std::make_shared<aicpu::AttrValue>(num_cores);
    return task;
}

Outcome run_task(const std::string& type, Task task) {
    const std::shared_ptr<aicpu::CpuKernel> kernel = aicpu::kernels().at(type)();
    Outcome outcome;
    const aicpu::CpuKernel& registered = *kernel;
    outcome.host_function = readable_name(typeid(registered).name());
    if (kernel->Compute(task) != 0) outcome.code = ACL_ERROR_RT_AICPU_EXCEPTION;
    outcome.text = task.log;
    return outcome;
}

int plan_first_phase(const char* type, PlanOp kind, const Call& call, uint64_t* workspace_bytes,
                     aclOpExecutor** executor) {
    PlanArgs args = read_plan(call);
    args.request.plan = spec_of("plan", call.outputs.front());
    PlanProblem problem;
    Status status = validate(call.signature.op, kind, core_count(), args, problem);
    if (status.ok()) status = check_plan_memory(call.signature.op, args.request);
    if (!status.ok()) return fail(ACL_ERROR_INVALID_PARAM, status.text);
    const auto run = [type, task = task_of(call, problem.num_cores)](uint8_t*) {
        return run_task(type, task);
    };
    return first_phase({std::string("aclnn") + type, 0, run}, workspace_bytes, executor);
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
    return sals::npu::plan_first_phase(
        "SalsQsiPlan", sals::PlanOp::QSI,
        {sals::host::QSI_PLAN,
         {seq_lens, query_lens, query_start_loc},
         {n_idx, s_q, max_seq_len, block_size, keep_num, keep_den, min_blocks, max_blocks, coverage,
          sink_blocks, tail_blocks, query_layout, num_cores},
         {plan}},
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
    return sals::npu::plan_first_phase(
        "SalsSfaaPlan", sals::PlanOp::SFAA,
        {sals::host::SFAA_PLAN,
         {seq_lens, query_lens, query_start_loc},
         {n_kv, group, s_q, shared_list, max_seq_len, block_size, keep_num, keep_den, min_blocks, max_blocks,
          coverage, sink_blocks, tail_blocks, query_layout, num_cores},
         {plan}},
        workspace_bytes, executor);
}

SALS_SECOND_PHASE(aclnnSalsQsiPlan)
SALS_SECOND_PHASE(aclnnSalsSfaaPlan)
