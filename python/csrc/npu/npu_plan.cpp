// SPDX-License-Identifier: Apache-2.0
// npu_plan.cpp - sals::qsi_plan and sals::sfaa_plan on NPU tensors: the AI CPU reads the lengths.
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "npu/npu_support.h"
#include "npu/two_phase.h"

namespace sals::ops {
namespace {

// Checks the call for the cores of its device and runs `run(args, problem, plan)`.
template <class Run>
void plan(const c10::OperatorHandle& op, torch::jit::Stack* stack, PlanOp kind, const Run& run) {
    Arguments a(op, *stack);
    const PlanArgs args = read_plan(a);
    const at::Device device = a.tensor("seq_lens").device();
    if (!device.is_privateuseone()) {  // another tensor brought the call here
        raise_unless_ok(
            {std::string(a.op()) + ": seq_lens must be on the NPU of the others, got " + device.str()});
    }
    const c10::DeviceGuard guard(device);
    PlanProblem p;
    raise_unless_ok(validate(a.op(), kind, core_count(device), args, p));
    const at::Tensor words = result_on(a, "plan", {PLAN_WORDS}, at::kInt, device);
    run(a, args, p, words);
    a.give({words});
}

void qsi_plan(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    plan(op, stack, PlanOp::QSI,
         [](const Arguments& a, const PlanArgs& args, const PlanProblem& p, const at::Tensor& words) {
             const SelectionArgs& s = args.selection;
             run_two_phase("SalsQsiPlan", words.device(), packed(a, "seq_lens"), packed(a, "query_lens"),
                           packed(a, "query_start_loc"), p.heads, p.s_q, s.max_seq_len, s.block_size,
                           s.keep_num, s.keep_den, s.min_blocks, s.max_blocks, s.coverage, s.sink_blocks,
                           s.tail_blocks, args.request.query_layout, p.num_cores, words);
         });
}

void sfaa_plan(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    plan(op, stack, PlanOp::SFAA,
         [](const Arguments& a, const PlanArgs& args, const PlanProblem& p, const at::Tensor& words) {
             const SelectionArgs& s = args.selection;
             run_two_phase("SalsSfaaPlan", words.device(), packed(a, "seq_lens"), packed(a, "query_lens"),
                           packed(a, "query_start_loc"), p.heads, p.group, p.s_q, args.shared_list,
                           s.max_seq_len, s.block_size, s.keep_num, s.keep_den, s.min_blocks, s.max_blocks,
                           s.coverage, s.sink_blocks, s.tail_blocks, args.request.query_layout, p.num_cores,
                           words);
         });
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, PrivateUse1, m) {
    m.impl("qsi_plan", torch::CppFunction::makeFromBoxedFunction<&qsi_plan>());
    m.impl("qsi_plan.out", torch::CppFunction::makeFromBoxedFunction<&qsi_plan>());
    m.impl("sfaa_plan", torch::CppFunction::makeFromBoxedFunction<&sfaa_plan>());
    m.impl("sfaa_plan.out", torch::CppFunction::makeFromBoxedFunction<&sfaa_plan>());
}

}  // namespace sals::ops
