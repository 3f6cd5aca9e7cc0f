// SPDX-License-Identifier: Apache-2.0
// aclnn_sals.h - first phases of our operators, as CANN makes them of a registration: inputs, attributes and
// outputs in its order, then the workspace's size and the executor. signatures.cpp compares them with
// op_host.
#pragma once
#include <cstdint>

struct aclTensor;
struct aclOpExecutor;

extern "C" {

int aclnnSalsQsiGetWorkspaceSize(const aclTensor* query, const aclTensor* query_scale,
                                 const aclTensor* key_cache, const aclTensor* key_scale,
                                 const aclTensor* seq_lens, const aclTensor* query_lens,
                                 const aclTensor* query_start_loc, const aclTensor* block_table,
                                 const aclTensor* plan, int64_t max_seq_len, int64_t block_size,
                                 int64_t keep_num, int64_t keep_den, int64_t min_blocks, int64_t max_blocks,
                                 double coverage, int64_t sink_blocks, int64_t tail_blocks, char* layout,
                                 char* query_layout, char* order, const aclTensor* block_ids,
                                 const aclTensor* selected_lens, uint64_t* workspace_bytes,
                                 aclOpExecutor** executor);

int aclnnSalsSfaaGetWorkspaceSize(const aclTensor* query, const aclTensor* key_cache,
                                  const aclTensor* value_cache, const aclTensor* key_scale,
                                  const aclTensor* value_scale, const aclTensor* block_ids,
                                  const aclTensor* selected_lens, const aclTensor* seq_lens,
                                  const aclTensor* query_lens, const aclTensor* query_start_loc,
                                  const aclTensor* block_table, const aclTensor* plan, double scale,
                                  int64_t block_size, char* layout, char* query_layout, bool causal,
                                  bool return_lse, const aclTensor* out, const aclTensor* lse,
                                  uint64_t* workspace_bytes, aclOpExecutor** executor);

int aclnnSalsQsiPlanGetWorkspaceSize(const aclTensor* seq_lens, const aclTensor* query_lens,
                                     const aclTensor* query_start_loc, int64_t n_idx, int64_t s_q,
                                     int64_t max_seq_len, int64_t block_size, int64_t keep_num,
                                     int64_t keep_den, int64_t min_blocks, int64_t max_blocks,
                                     double coverage, int64_t sink_blocks, int64_t tail_blocks,
                                     char* query_layout, int64_t num_cores, const aclTensor* plan,
                                     uint64_t* workspace_bytes, aclOpExecutor** executor);

int aclnnSalsSfaaPlanGetWorkspaceSize(const aclTensor* seq_lens, const aclTensor* query_lens,
                                      const aclTensor* query_start_loc, int64_t n_kv, int64_t group,
                                      int64_t s_q, bool shared_list, int64_t max_seq_len, int64_t block_size,
                                      int64_t keep_num, int64_t keep_den, int64_t min_blocks,
                                      int64_t max_blocks, double coverage, int64_t sink_blocks,
                                      int64_t tail_blocks, char* query_layout, int64_t num_cores,
                                      const aclTensor* plan, uint64_t* workspace_bytes,
                                      aclOpExecutor** executor);

int aclnnSalsProjectQueryGetWorkspaceSize(const aclTensor* query, const aclTensor* projection, int64_t n_idx,
                                          double scale, const aclTensor* packed, const aclTensor* query_scale,
                                          uint64_t* workspace_bytes, aclOpExecutor** executor);

// Tensors that are inputs and outputs of one name come once, at the place of the input.
int aclnnSalsWriteCacheGetWorkspaceSize(const aclTensor* key, const aclTensor* value,
                                        const aclTensor* index_key, const aclTensor* projection,
                                        const aclTensor* slot_mapping, aclTensor* key_cache,
                                        aclTensor* value_cache, aclTensor* index_cache,
                                        aclTensor* index_scale, aclTensor* key_scale, aclTensor* value_scale,
                                        char* layout, bool static_scales, uint64_t* workspace_bytes,
                                        aclOpExecutor** executor);
}
