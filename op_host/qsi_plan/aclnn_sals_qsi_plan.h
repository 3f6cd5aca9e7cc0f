// SPDX-License-Identifier: Apache-2.0
// aclnn_sals_qsi_plan.h - the two phases of sals::qsi_plan on an NPU: an AI CPU task reads the lengths and
// writes the plan. Tensors are int32 and contiguous; queryLensOptional and queryStartLocOptional may be null.
#pragma once
#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((visibility("default"))) aclnnStatus aclnnSalsQsiPlanGetWorkspaceSize(
    const aclTensor* seqLens, const aclTensor* queryLensOptional, const aclTensor* queryStartLocOptional,
    int64_t nIdx, int64_t sQ, int64_t maxSeqLen, int64_t blockSize, int64_t keepNum, int64_t keepDen,
    int64_t minBlocks, int64_t maxBlocks, double coverage, int64_t sinkBlocks, int64_t tailBlocks,
    char* queryLayoutOptional, int64_t numCores, const aclTensor* out, uint64_t* workspaceSize,
    aclOpExecutor** executor);

__attribute__((visibility("default"))) aclnnStatus aclnnSalsQsiPlan(void* workspace, uint64_t workspaceSize,
                                                                    aclOpExecutor* executor,
                                                                    aclrtStream stream);

#ifdef __cplusplus
}
#endif
