// SPDX-License-Identifier: Apache-2.0
// cuda_cache.cpp - sals::project_query and sals::write_cache on CUDA tensors. Slots are not looked at here:
// the kernel skips those outside the caches (write_cache_tiling.h).
#include <ATen/DeviceGuard.h>

#include "cuda/cuda_support.h"
#include "ops/library.h"

namespace sals::ops {
namespace {

void project_query(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    constexpr int64_t MOST_IN_DIM = 1 << 14;  // the mean of a query stands in shared memory
    Arguments a(op, *stack);
    const at::OptionalDeviceGuard guard(at::device_of(a.tensor("query")));
    const ProjectQueryArgs args = read_project_query(a);
    ProjectQueryProblem p;
    raise_unless_ok(validate(a.op(), args, p));
    Checker check(a.op());
    check.range("query tokens * n_idx on CUDA", p.tokens * p.n_idx, 0, INT32_MAX);
    check.range("projection in_dim on CUDA", p.heads_per_index * p.head_dim, 0, MOST_IN_DIM);
    raise_unless_ok(check.status());
    const at::Tensor query = packed(a, "query"), projection = a.tensor("projection");
    const at::Device device = query.device();
    std::vector<int64_t> shape(query.sizes().begin(), query.sizes().end() - 2);
    shape.push_back(p.n_idx);
    const at::Tensor query_scale = result_on(a, "query_scale", shape, at::kFloat, device);
    shape.push_back(p.rank / RANK_MULTIPLE);
    const at::Tensor words = result_on(a, "packed", shape, at::kInt, device);
    const auto small = [](int64_t x) { return static_cast<int32_t>(x); };
    const cuda::ProjectQueryArguments k = {query.const_data_ptr(),
                                           cuda_float_type(query),
                                           device_pointer<float>(projection),
                                           small(p.tokens),
                                           small(p.n_q),
                                           small(p.n_idx),
                                           small(p.heads_per_index),
                                           small(p.group),
                                           small(p.head_dim),
                                           small(p.rank),
                                           static_cast<float>(args.scale),
                                           device_writable<int32_t>(words),
                                           device_writable<float>(query_scale)};
    check_launch(cuda::launch_project_query(k, cuda_device(device)), a.op());
    a.give({words, query_scale});
}

void write_cache(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const at::OptionalDeviceGuard guard(at::device_of(a.tensor("key")));
    WriteCacheProblem p;
    raise_unless_ok(validate(a.op(), read_write_cache(a), p));
    Checker check(a.op());
    check.range("key tokens on CUDA", p.tokens, 0, INT32_MAX);
    require_stride(check, "key_cache", p.kv);
    require_stride(check, "index_cache", p.index);
    raise_unless_ok(check.status());
    const at::Tensor key = packed(a, "key"), value = packed(a, "value"), index_key = packed(a, "index_key");
    const at::Tensor slots = packed(a, "slot_mapping"), projection = a.tensor("projection");
    const at::Tensor key_cache = a.tensor("key_cache");
    const at::Tensor value_cache = a.tensor("value_cache").defined() ? a.tensor("value_cache") : key_cache;
    const at::Tensor key_scale = a.tensor("key_scale"), value_scale = a.tensor("value_scale");
    const auto written = [](const at::Tensor& tensor) { return device_writable<float>(tensor); };
    cuda::WriteCacheArguments k{};
    k.key = key.const_data_ptr();
    k.value = value.const_data_ptr();
    k.index_key = index_key.const_data_ptr();
    k.type = cuda_float_type(key);
    k.projection = device_pointer<float>(projection);
    k.slot_mapping = device_pointer<int32_t>(slots);
    k.keys = cuda::walk_of(p.kv, key_cache.mutable_data_ptr(), p.static_scales ? nullptr : written(key_scale),
                           false);
    k.values = cuda::walk_of(p.kv, value_cache.mutable_data_ptr(),
                             p.static_scales ? nullptr : written(value_scale), true);
    k.index = cuda::walk_of(p.index, a.tensor("index_cache").mutable_data_ptr(),
                            written(a.tensor("index_scale")), false);
    k.key_row_bytes = static_cast<int32_t>(p.kv.row_bytes);
    k.static_key_scale = p.static_scales ? device_pointer<float>(key_scale) : nullptr;
    k.static_value_scale = p.static_scales ? device_pointer<float>(value_scale) : nullptr;
    k.tokens = static_cast<int32_t>(p.tokens);
    k.n_kv = static_cast<int32_t>(p.n_kv);
    k.head_dim = static_cast<int32_t>(p.head_dim);
    k.n_idx = static_cast<int32_t>(p.n_idx);
    k.heads_per_index = static_cast<int32_t>(p.heads_per_index);
    k.rank = static_cast<int32_t>(p.rank);
    k.page_size = static_cast<int32_t>(p.kv.page_size);
    k.num_slots = p.slots();
    check_launch(cuda::launch_write_cache(k, cuda_device(key.device())), a.op());
    a.give({});
}

}  // namespace

SALS_CUDA_OPERATORS(m) {
    m.impl("project_query", torch::CppFunction::makeFromBoxedFunction<&project_query>());
    m.impl("write_cache", torch::CppFunction::makeFromBoxedFunction<&write_cache>());
}

}  // namespace sals::ops
