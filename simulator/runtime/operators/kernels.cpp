// SPDX-License-Identifier: Apache-2.0
// kernels.cpp - aclnnSalsQsi, aclnnSalsSfaa, aclnnSalsProjectQuery and aclnnSalsWriteCache.
#include "opapi/two_phase.h"
#include "operators/aclnn_sals.h"
#include "operators/kernel.h"
#include "project_query/signature.h"
#include "qsi/signature.h"
#include "sfaa/signature.h"
#include "write_cache/signature.h"

using sals::npu::CoreKind;
using sals::npu::kernel_first_phase;

extern "C" int aclnnSalsQsiGetWorkspaceSize(
    const aclTensor* query, const aclTensor* query_scale, const aclTensor* key_cache,
    const aclTensor* key_scale, const aclTensor* seq_lens, const aclTensor* query_lens,
    const aclTensor* query_start_loc, const aclTensor* block_table, const aclTensor* plan,
    int64_t max_seq_len, int64_t block_size, int64_t keep_num, int64_t keep_den, int64_t min_blocks,
    int64_t max_blocks, double coverage, int64_t sink_blocks, int64_t tail_blocks, char* layout,
    char* query_layout, char* order, const aclTensor* block_ids, const aclTensor* selected_lens,
    uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return kernel_first_phase(
        "SalsQsi", CoreKind::MIX,
        {sals::host::QSI,
         {query, query_scale, key_cache, key_scale, seq_lens, query_lens, query_start_loc, block_table, plan},
         {max_seq_len, block_size, keep_num, keep_den, min_blocks, max_blocks, coverage, sink_blocks,
          tail_blocks, layout, query_layout, order},
         {block_ids, selected_lens}},
        workspace_bytes, executor);
}

extern "C" int aclnnSalsSfaaGetWorkspaceSize(
    const aclTensor* query, const aclTensor* key_cache, const aclTensor* value_cache,
    const aclTensor* key_scale, const aclTensor* value_scale, const aclTensor* block_ids,
    const aclTensor* selected_lens, const aclTensor* seq_lens, const aclTensor* query_lens,
    const aclTensor* query_start_loc, const aclTensor* block_table, const aclTensor* plan, double scale,
    int64_t block_size, char* layout, char* query_layout, bool causal, bool return_lse, const aclTensor* out,
    const aclTensor* lse, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return kernel_first_phase("SalsSfaa", CoreKind::MIX,
                              {sals::host::SFAA,
                               {query, key_cache, value_cache, key_scale, value_scale, block_ids,
                                selected_lens, seq_lens, query_lens, query_start_loc, block_table, plan},
                               {scale, block_size, layout, query_layout, causal, return_lse},
                               {out, lse}},
                              workspace_bytes, executor);
}

extern "C" int aclnnSalsProjectQueryGetWorkspaceSize(const aclTensor* query, const aclTensor* projection,
                                                     int64_t n_idx, double scale, const aclTensor* packed,
                                                     const aclTensor* query_scale, uint64_t* workspace_bytes,
                                                     aclOpExecutor** executor) {
    return kernel_first_phase(
        "SalsProjectQuery", CoreKind::VECTOR,
        {sals::host::PROJECT_QUERY, {query, projection}, {n_idx, scale}, {packed, query_scale}},
        workspace_bytes, executor);
}

extern "C" int aclnnSalsWriteCacheGetWorkspaceSize(const aclTensor* key, const aclTensor* value,
                                                   const aclTensor* index_key, const aclTensor* projection,
                                                   const aclTensor* slot_mapping, aclTensor* key_cache,
                                                   aclTensor* value_cache, aclTensor* index_cache,
                                                   aclTensor* index_scale, aclTensor* key_scale,
                                                   aclTensor* value_scale, char* layout, bool static_scales,
                                                   uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return kernel_first_phase("SalsWriteCache", CoreKind::VECTOR,
                              {sals::host::WRITE_CACHE,
                               {key, value, index_key, projection, slot_mapping, key_cache, value_cache,
                                index_cache, index_scale, key_scale, value_scale},
                               {layout, static_scales},
                               {}},
                              workspace_bytes, executor);
}

SALS_SECOND_PHASE(aclnnSalsQsi)
SALS_SECOND_PHASE(aclnnSalsSfaa)
SALS_SECOND_PHASE(aclnnSalsProjectQuery)
SALS_SECOND_PHASE(aclnnSalsWriteCache)
