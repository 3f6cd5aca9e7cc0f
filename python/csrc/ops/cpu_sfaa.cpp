// SPDX-License-Identifier: Apache-2.0
// cpu_sfaa.cpp - sals::sfaa on CPU tensors.
#include <torch/library.h>

#include "cpu/sfaa.h"
#include "ops/cpu_support.h"

namespace sals::ops {
namespace {

void sfaa(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    SfaaProblem p;
    raise_unless_ok(validate(a.op(), read_sfaa(a), p));
    const RequestInputs request(a);
    raise_unless_ok(check_values(a.op(), p.axis, request.tensors(), p.cache, p.max_pages, MAX_SEQ_LEN));

    const at::Tensor query = a.tensor("query").contiguous();
    const at::Tensor block_ids = a.tensor("block_ids").contiguous();
    const at::Tensor selected_lens = a.tensor("selected_lens").contiguous();
    cpu::SfaaTensors t;
    t.query = query.const_data_ptr();
    t.query_type = float_type(query);
    t.key_cache = pointer<int8_t>(a.tensor("key_cache"));
    t.value_cache = pointer<int8_t>(a.tensor("value_cache"));
    t.key_scale = pointer<float>(a.tensor("key_scale"));
    t.value_scale = pointer<float>(a.tensor("value_scale"));
    t.block_ids = pointer<int32_t>(block_ids);
    t.selected_lens = pointer<int32_t>(selected_lens);
    t.request = request.tensors();
    t.scale = static_cast<float>(a.real("scale"));
    t.causal = a.flag("causal");
    raise_unless_ok(cpu::check_block_ids(a.op(), p, t));

    const int64_t live = p.shared_list() ? p.rows() : live_tokens(p.axis, t.request) * p.n_kv;
    const std::optional<Plan> plan = read_plan_of_call(a, PlanOp::SFAA, p.rows(), live);
    t.plan = plan.has_value() ? &*plan : nullptr;
    const bool return_lse = a.flag("return_lse");
    const std::vector<int64_t> lse_shape =
        return_lse ? query_shape(p.axis, {p.n_q}) : std::vector<int64_t>{0};
    const at::Tensor out = result(a, "out", query.sizes().vec(), query.scalar_type());
    const at::Tensor lse = result(a, "lse", lse_shape, at::kFloat);
    cpu::sfaa(p, t, aten_workers(), out.mutable_data_ptr(), return_lse ? writable<float>(lse) : nullptr);
    a.give({out, lse});
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, CPU, m) {
    m.impl("sfaa", torch::CppFunction::makeFromBoxedFunction<&sfaa>());
    m.impl("sfaa.out", torch::CppFunction::makeFromBoxedFunction<&sfaa>());
}

}  // namespace sals::ops
