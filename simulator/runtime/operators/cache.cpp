// SPDX-License-Identifier: Apache-2.0
// cache.cpp - aclnnSalsProjectQuery and aclnnSalsWriteCache: the contract's checks and tiling, then the
// kernel.
#include "acl/runtime.h"
#include "opapi/two_phase.h"
#include "operators/aclnn_sals.h"
#include "operators/arguments.h"
#include "operators/kernel.h"
#include "sals/project_query_launch.h"
#include "sals/write_cache_launch.h"

extern "C" int aclnnSalsProjectQueryGetWorkspaceSize(const aclTensor* query, const aclTensor* projection,
                                                     int64_t n_idx, double scale, const aclTensor* packed,
                                                     const aclTensor* query_scale, uint64_t* workspace_bytes,
                                                     aclOpExecutor** executor) {
    using namespace sals;
    constexpr const char* NAME = "aclnnSalsProjectQuery";
    ProjectQueryArgs args;
    args.query = npu::spec_of("query", query);
    args.projection = npu::spec_of("projection", projection);
    args.n_idx = n_idx;
    args.scale = scale;
    ProjectQueryProblem problem;
    Status status = validate(NAME, args, problem);
    if (status.ok()) status = check_on_device(NAME, problem);
    if (!status.ok()) return npu::refuse(status);
    std::vector<int64_t> shape(query->shape.begin(), query->shape.end() - 2);
    shape.push_back(n_idx);
    Checker check(NAME);
    npu::check_result(check, npu::spec_of("query_scale", query_scale), shape, DType::FLOAT32);
    shape.push_back(problem.rank / RANK_MULTIPLE);
    npu::check_result(check, npu::spec_of("packed", packed), shape, DType::INT32);
    check.contiguous(args.query);
    if (!check.ok()) return npu::refuse(check.status());

    npu::KernelLaunch kernel("project_query", npu::CoreKind::VECTOR);
    kernel.input("query", query);
    kernel.input("projection", projection);
    kernel.output("packed", packed);
    kernel.output("query_scale", query_scale);
    kernel.tiling(make_project_query_tiling(problem, args.query.dtype, scale));
    return npu::finish(NAME, kernel, workspace_bytes, executor);
}

extern "C" int aclnnSalsWriteCacheGetWorkspaceSize(const aclTensor* key, const aclTensor* value,
                                                   const aclTensor* index_key, const aclTensor* projection,
                                                   const aclTensor* slot_mapping, aclTensor* key_cache,
                                                   aclTensor* value_cache, aclTensor* index_cache,
                                                   aclTensor* index_scale, aclTensor* key_scale,
                                                   aclTensor* value_scale, char* layout, bool static_scales,
                                                   uint64_t* workspace_bytes, aclOpExecutor** executor) {
    using namespace sals;
    constexpr const char* NAME = "aclnnSalsWriteCache";
    WriteCacheArgs args;
    args.key = npu::spec_of("key", key);
    args.value = npu::spec_of("value", value);
    args.index_key = npu::spec_of("index_key", index_key);
    args.projection = npu::spec_of("projection", projection);
    args.slot_mapping = npu::spec_of("slot_mapping", slot_mapping);
    args.key_cache = npu::spec_of("key_cache", key_cache);
    args.value_cache = npu::spec_of("value_cache", value_cache);
    args.index_cache = npu::spec_of("index_cache", index_cache);
    args.index_scale = npu::spec_of("index_scale", index_scale);
    args.key_scale = npu::spec_of("key_scale", key_scale);
    args.value_scale = npu::spec_of("value_scale", value_scale);
    args.layout = layout;
    args.static_scales = static_scales;
    WriteCacheProblem problem;
    Status status = validate(NAME, args, problem);
    if (status.ok()) status = check_on_device(NAME, problem);
    if (!status.ok()) return npu::refuse(status);

    npu::KernelLaunch kernel("write_cache", npu::CoreKind::VECTOR);
    kernel.input("key", key);
    kernel.input("value", value);
    kernel.input("index_key", index_key);
    kernel.input("projection", projection);
    kernel.input("slot_mapping", slot_mapping);
    kernel.inout("key_cache", key_cache);
    kernel.inout("value_cache", value_cache);
    kernel.inout("index_cache", index_cache);
    kernel.inout("index_scale", index_scale);
    kernel.inout("key_scale", key_scale);
    kernel.inout("value_scale", value_scale);
    // CANN passes all but value_cache a second time, as outputs; the kernel does not use that.
    for (int i = 0; i < 5; ++i) kernel.output("in place", nullptr);
    kernel.tiling(make_write_cache_tiling(problem, args.key.dtype));
    return npu::finish(NAME, kernel, workspace_bytes, executor);
}

SALS_SECOND_PHASE(aclnnSalsProjectQuery)
SALS_SECOND_PHASE(aclnnSalsWriteCache)
