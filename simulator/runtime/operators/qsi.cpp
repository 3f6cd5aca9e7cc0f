// SPDX-License-Identifier: Apache-2.0
// qsi.cpp - aclnnSalsQsi: the contract's checks and tiling, then the kernel.
#include "acl/runtime.h"
#include "common/selection_attributes.h"
#include "opapi/two_phase.h"
#include "operators/aclnn_sals.h"
#include "operators/arguments.h"
#include "operators/kernel.h"
#include "sals/qsi_launch.h"
#include "sals/workspace.h"

extern "C" int aclnnSalsQsiGetWorkspaceSize(
    const aclTensor* query, const aclTensor* query_scale, const aclTensor* key_cache,
    const aclTensor* key_scale, const aclTensor* seq_lens, const aclTensor* query_lens,
    const aclTensor* query_start_loc, const aclTensor* block_table, const aclTensor* plan,
    int64_t max_seq_len, int64_t block_size, int64_t keep_num, int64_t keep_den, int64_t min_blocks,
    int64_t max_blocks, double coverage, int64_t sink_blocks, int64_t tail_blocks, char* layout,
    char* query_layout, char* order, const aclTensor* block_ids, const aclTensor* selected_lens,
    uint64_t* workspace_bytes, aclOpExecutor** executor) {
    using namespace sals;
    constexpr const char* NAME = "aclnnSalsQsi";
    QsiArgs args;
    args.query = npu::spec_of("query", query);
    args.query_scale = npu::spec_of("query_scale", query_scale);
    args.key_cache = npu::spec_of("key_cache", key_cache);
    args.key_scale = npu::spec_of("key_scale", key_scale);
    args.block_table = npu::spec_of("block_table", block_table);
    args.request = npu::request_of(seq_lens, query_lens, query_start_loc, query_layout);
    args.request.plan = npu::spec_of("plan", plan);
    args.selection = host::selection_of(max_seq_len, block_size, keep_num, keep_den, min_blocks, max_blocks,
                                        coverage, sink_blocks, tail_blocks);
    args.selection.order = order;
    args.layout = layout;

    QsiProblem problem;
    Status status = validate(NAME, args, problem);
    if (status.ok()) status = check_on_device(NAME, problem);
    if (!status.ok()) return npu::refuse(status);
    Checker check(NAME);
    npu::check_result(check, npu::spec_of("block_ids", block_ids),
                      query_shape(problem.axis, {problem.n_idx, problem.width}), DType::INT32);
    npu::check_result(check, npu::spec_of("selected_lens", selected_lens),
                      query_shape(problem.axis, {problem.n_idx}), DType::INT32);
    if (!check.ok()) return npu::refuse(check.status());

    const QsiTiling tiling = make_qsi_tiling(problem, npu::core_count());
    npu::KernelLaunch kernel("qsi", npu::CoreKind::MIX);
    kernel.input("query", query);
    kernel.input("query_scale", query_scale);
    kernel.input("key_cache", key_cache);
    kernel.input("key_scale", key_scale);
    kernel.input("seq_lens", seq_lens);
    kernel.input("query_lens", query_lens);
    kernel.input("query_start_loc", query_start_loc);
    kernel.input("block_table", block_table);
    kernel.input("plan", plan);
    kernel.output("block_ids", block_ids);
    kernel.output("selected_lens", selected_lens);
    kernel.workspace(static_cast<uint64_t>(qsi_workspace_bytes(tiling)));
    kernel.tiling(tiling);
    kernel.batch_schedule(tiling.uses_sync_all != 0);
    return npu::finish(NAME, kernel, workspace_bytes, executor);
}

SALS_SECOND_PHASE(aclnnSalsQsi)
