// SPDX-License-Identifier: Apache-2.0
// cpu_cache.cpp - sals::project_query and sals::write_cache on CPU tensors.
#include <torch/library.h>

#include "cpu/cache_ops.h"
#include "ops/cpu_support.h"

namespace sals::ops {
namespace {

void project_query(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    ProjectQueryProblem p;
    raise_unless_ok(validate(a.op(), read_project_query(a), p));
    const at::Tensor query = a.tensor("query").contiguous();
    std::vector<int64_t> shape(query.sizes().begin(), query.sizes().end() - 2);
    shape.push_back(p.n_idx);
    const at::Tensor query_scale = result(a, "query_scale", shape, at::kFloat);
    shape.push_back(p.rank / RANK_MULTIPLE);
    const at::Tensor packed = result(a, "packed", shape, at::kInt);
    cpu::project_query(p, query.const_data_ptr(), float_type(query), pointer<float>(a.tensor("projection")),
                       static_cast<float>(a.real("scale")), aten_workers(), writable<int32_t>(packed),
                       writable<float>(query_scale));
    a.give({packed, query_scale});
}

void write_cache(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    WriteCacheProblem p;
    raise_unless_ok(validate(a.op(), read_write_cache(a), p));
    const at::Tensor key = a.tensor("key").contiguous();
    const at::Tensor value = a.tensor("value").contiguous();
    const at::Tensor index_key = a.tensor("index_key").contiguous();
    const at::Tensor slot_mapping = a.tensor("slot_mapping").contiguous();
    cpu::WriteCacheTensors t;
    t.key = key.const_data_ptr();
    t.value = value.const_data_ptr();
    t.index_key = index_key.const_data_ptr();
    t.type = float_type(key);
    t.projection = pointer<float>(a.tensor("projection"));
    t.slot_mapping = pointer<int32_t>(slot_mapping);
    t.key_cache = writable<int8_t>(a.tensor("key_cache"));
    t.value_cache = writable<int8_t>(a.tensor("value_cache"));
    t.index_cache = writable<int32_t>(a.tensor("index_cache"));
    t.index_scale = writable<float>(a.tensor("index_scale"));
    t.key_scale = writable<float>(a.tensor("key_scale"));
    t.value_scale = writable<float>(a.tensor("value_scale"));
    raise_unless_ok(cpu::check_slots(a.op(), p, t.slot_mapping));
    cpu::write_cache(p, t, aten_workers());
    a.give({});
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, CPU, m) {
    m.impl("project_query", torch::CppFunction::makeFromBoxedFunction<&project_query>());
    m.impl("write_cache", torch::CppFunction::makeFromBoxedFunction<&write_cache>());
}

}  // namespace sals::ops
