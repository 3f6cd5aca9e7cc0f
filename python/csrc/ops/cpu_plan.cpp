// SPDX-License-Identifier: Apache-2.0
// cpu_plan.cpp - sals::qsi_plan and sals::sfaa_plan on CPU tensors.
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <cstring>

#include "make_plan.h"
#include "ops/cpu_support.h"

namespace sals::ops {
namespace {

template <PlanOp KIND>
void plan(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    PlanProblem p;
    raise_unless_ok(validate(a.op(), KIND, at::get_num_threads(), read_plan(a), p));
    const RequestInputs request(a);
    raise_unless_ok(check_plan_values(a.op(), p, request.tensors()));
    const at::Tensor words = result(a, "plan", {PLAN_WORDS}, at::kInt);
    const Plan made = make_plan(p, request.tensors());
    std::memcpy(words.mutable_data_ptr(), &made, sizeof(made));
    a.give({words});
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, CPU, m) {
    m.impl("qsi_plan", torch::CppFunction::makeFromBoxedFunction<&plan<PlanOp::QSI>>());
    m.impl("qsi_plan.out", torch::CppFunction::makeFromBoxedFunction<&plan<PlanOp::QSI>>());
    m.impl("sfaa_plan", torch::CppFunction::makeFromBoxedFunction<&plan<PlanOp::SFAA>>());
    m.impl("sfaa_plan.out", torch::CppFunction::makeFromBoxedFunction<&plan<PlanOp::SFAA>>());
}

}  // namespace sals::ops
