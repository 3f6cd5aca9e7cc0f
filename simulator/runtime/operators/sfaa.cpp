// SPDX-License-Identifier: Apache-2.0
// sfaa.cpp - aclnnSalsSfaa: the contract's checks and tiling, then the kernel.
#include "acl/runtime.h"
#include "opapi/two_phase.h"
#include "operators/aclnn_sals.h"
#include "operators/arguments.h"
#include "operators/kernel.h"
#include "sals/sfaa_launch.h"
#include "sals/workspace.h"

extern "C" int aclnnSalsSfaaGetWorkspaceSize(
    const aclTensor* query, const aclTensor* key_cache, const aclTensor* value_cache,
    const aclTensor* key_scale, const aclTensor* value_scale, const aclTensor* block_ids,
    const aclTensor* selected_lens, const aclTensor* seq_lens, const aclTensor* query_lens,
    const aclTensor* query_start_loc, const aclTensor* block_table, const aclTensor* plan, double scale,
    int64_t block_size, char* layout, char* query_layout, bool causal, bool return_lse, const aclTensor* out,
    const aclTensor* lse, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    using namespace sals;
    constexpr const char* NAME = "aclnnSalsSfaa";
    SfaaArgs args;
    args.query = npu::spec_of("query", query);
    args.key_cache = npu::spec_of("key_cache", key_cache);
    args.value_cache = npu::spec_of("value_cache", value_cache);
    args.key_scale = npu::spec_of("key_scale", key_scale);
    args.value_scale = npu::spec_of("value_scale", value_scale);
    args.block_ids = npu::spec_of("block_ids", block_ids);
    args.selected_lens = npu::spec_of("selected_lens", selected_lens);
    args.block_table = npu::spec_of("block_table", block_table);
    args.request = npu::request_of(seq_lens, query_lens, query_start_loc, query_layout);
    args.request.plan = npu::spec_of("plan", plan);
    args.scale = scale;
    args.block_size = block_size;
    args.layout = layout;

    SfaaProblem problem;
    Status status = validate(NAME, args, problem);
    if (status.ok()) status = check_on_device(NAME, problem, args.query.dtype);
    if (!status.ok()) return npu::refuse(status);
    Checker check(NAME);
    npu::check_result(check, npu::spec_of("out", out), query->shape, args.query.dtype);
    npu::check_result(check, npu::spec_of("lse", lse),
                      return_lse ? query_shape(problem.axis, {problem.n_q}) : std::vector<int64_t>{0},
                      DType::FLOAT32);
    if (!check.ok()) return npu::refuse(check.status());

    const SfaaTiling tiling =
        make_sfaa_tiling(problem, {args.query.dtype, scale, causal, return_lse, npu::core_count()});
    npu::KernelLaunch kernel("sfaa", npu::CoreKind::MIX);
    kernel.input("query", query);
    kernel.input("key_cache", key_cache);
    kernel.input("value_cache", value_cache);
    kernel.input("key_scale", key_scale);
    kernel.input("value_scale", value_scale);
    kernel.input("block_ids", block_ids);
    kernel.input("selected_lens", selected_lens);
    kernel.input("seq_lens", seq_lens);
    kernel.input("query_lens", query_lens);
    kernel.input("query_start_loc", query_start_loc);
    kernel.input("block_table", block_table);
    kernel.input("plan", plan);
    kernel.output("out", out);
    kernel.output("lse", return_lse ? lse : nullptr);
    kernel.workspace(static_cast<uint64_t>(sfaa_workspace_bytes(tiling)));
    kernel.tiling(tiling);
    kernel.batch_schedule(tiling.uses_sync_all != 0);
    return npu::finish(NAME, kernel, workspace_bytes, executor);
}

SALS_SECOND_PHASE(aclnnSalsSfaa)
