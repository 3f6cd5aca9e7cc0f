// SPDX-License-Identifier: Apache-2.0
// cpu_qsi.cpp - sals::qsi and sals::block_scores on CPU tensors.
#include <torch/library.h>

#include "cpu/qsi.h"
#include "ops/cpu_support.h"

namespace sals::ops {
namespace {

// A checked indexer call and the pointers it works on.
struct QsiCall {
    explicit QsiCall(const Arguments& a)
        : query(a.tensor("query").contiguous()),
          query_scale(a.tensor("query_scale").contiguous()),
          request(checked(a)) {
        raise_unless_ok(check_values(a.op(), problem.axis, request.tensors(), problem.cache,
                                     problem.max_pages, problem.max_seq_len));
        tensors.query = pointer<int32_t>(query);
        tensors.query_scale = pointer<float>(query_scale);
        tensors.key_cache = pointer<int32_t>(a.tensor("key_cache"));
        tensors.key_scale = pointer<float>(a.tensor("key_scale"));
        tensors.request = request.tensors();
    }

    QsiProblem problem;
    at::Tensor query, query_scale;
    RequestInputs request;
    cpu::QsiTensors tensors;

private:
    const Arguments& checked(const Arguments& a) {
        raise_unless_ok(validate(a.op(), read_qsi(a), problem));
        return a;
    }
};

void qsi(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    QsiCall call(a);
    const QsiProblem& p = call.problem;
    const int64_t live = live_tokens(p.axis, call.tensors.request) * p.n_idx;
    const std::optional<Plan> plan = read_plan_of_call(a, PlanOp::QSI, p.rows(), live);
    call.tensors.plan = plan.has_value() ? &*plan : nullptr;
    const at::Tensor block_ids = result(a, "block_ids", query_shape(p.axis, {p.n_idx, p.width}), at::kInt);
    const at::Tensor selected_lens = result(a, "selected_lens", query_shape(p.axis, {p.n_idx}), at::kInt);
    cpu::qsi(p, call.tensors, aten_workers(), writable<int32_t>(block_ids), writable<int32_t>(selected_lens));
    a.give({block_ids, selected_lens});
}

void block_scores(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    QsiCall call(a);
    const QsiProblem& p = call.problem;
    const int64_t blocks = num_blocks(p.max_seq_len, p.selection.block_size);
    const at::Tensor scores = result(a, "scores", query_shape(p.axis, {p.n_idx, blocks}), at::kFloat);
    cpu::block_scores(p, call.tensors, aten_workers(), writable<float>(scores));
    a.give({scores});
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, CPU, m) {
    m.impl("qsi", torch::CppFunction::makeFromBoxedFunction<&qsi>());
    m.impl("qsi.out", torch::CppFunction::makeFromBoxedFunction<&qsi>());
    m.impl("block_scores", torch::CppFunction::makeFromBoxedFunction<&block_scores>());
}

}  // namespace sals::ops
