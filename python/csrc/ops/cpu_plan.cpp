// SPDX-License-Identifier: Apache-2.0
// cpu_plan.cpp - sals::qsi_plan and sals::sfaa_plan on CPU tensors.
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <cstring>

#include "make_plan.h"
#include "ops/cpu_support.h"

namespace sals::ops {
namespace {

void check_plan_values(const Arguments& a, const PlanProblem& p, const cpu::RequestTensors& request) {
    RequestAxis axis;
    axis.layout = p.layout;
    axis.batch = p.batch;
    axis.s_q = p.s_q;
    axis.tokens = INT32_MAX;  // TND: the plan op does not see the query, any number of tokens may follow
    Checker check(a.op());
    cpu::check_lengths(check, axis, request, a.integer("max_seq_len"), "max_seq_len");
    raise_unless_ok(check.status());
    raise_unless_ok(check_lengths(a.op(), p, request.query_lens, request.query_start_loc));
}

template <PlanOp KIND>
void plan(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    PlanProblem p;
    raise_unless_ok(validate(a.op(), KIND, at::get_num_threads(), read_plan(a), p));
    const RequestInputs request(a);
    check_plan_values(a, p, request.tensors());
    const at::Tensor words = result(a, "plan", {PLAN_WORDS}, at::kInt);
    const cpu::RequestTensors& t = request.tensors();
    const Plan made = make_plan(p, t.seq_lens, t.query_lens, t.query_start_loc);
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
