// SPDX-License-Identifier: Apache-2.0
// npu_cache.cpp - sals::project_query and sals::write_cache on NPU tensors. Slots are not looked at here: the
// kernel skips those outside the caches (write_cache_tiling.h).
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "npu/npu_support.h"
#include "npu/two_phase.h"
#include "sals/project_query_launch.h"
#include "sals/write_cache_launch.h"

namespace sals::ops {
namespace {

void project_query(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const ProjectQueryArgs args = read_project_query(a);
    ProjectQueryProblem p;
    raise_unless_ok(validate(a.op(), args, p));
    raise_unless_ok(check_on_device(a.op(), p));
    const at::Tensor query = packed(a, "query");
    const at::Device device = query.device();
    const c10::DeviceGuard guard(device);
    std::vector<int64_t> shape(query.sizes().begin(), query.sizes().end() - 2);
    shape.push_back(p.n_idx);
    const at::Tensor query_scale = result_on(a, "query_scale", shape, at::kFloat, device);
    shape.push_back(p.rank / RANK_MULTIPLE);
    const at::Tensor words = result_on(a, "packed", shape, at::kInt, device);
    run_two_phase("SalsProjectQuery", device, query, packed(a, "projection"), args.n_idx, args.scale, words,
                  query_scale);
    a.give({words, query_scale});
}

void write_cache(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const WriteCacheArgs args = read_write_cache(a);
    WriteCacheProblem p;
    raise_unless_ok(validate(a.op(), args, p));
    raise_unless_ok(check_on_device(a.op(), p));
    const at::Device device = a.tensor("key").device();
    const c10::DeviceGuard guard(device);
    run_two_phase("SalsWriteCache", device, packed(a, "key"), packed(a, "value"), packed(a, "index_key"),
                  packed(a, "projection"), packed(a, "slot_mapping"), a.tensor("key_cache"),
                  a.tensor("value_cache"), a.tensor("index_cache"), a.tensor("index_scale"),
                  a.tensor("key_scale"), a.tensor("value_scale"), args.layout, args.static_scales);
    a.give({});
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, PrivateUse1, m) {
    m.impl("project_query", torch::CppFunction::makeFromBoxedFunction<&project_query>());
    m.impl("write_cache", torch::CppFunction::makeFromBoxedFunction<&write_cache>());
}

}  // namespace sals::ops
