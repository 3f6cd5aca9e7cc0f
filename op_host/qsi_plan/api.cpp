// SPDX-License-Identifier: Apache-2.0
#include "common/plan_task.h"
#include "qsi_plan/aclnn_sals_qsi_plan.h"
#include "qsi_plan/signature.h"

namespace l0op {

OP_TYPE_REGISTER(SalsQsiPlan);

// Null inputs are left out of the task; the AI CPU tells the rest apart by query_layout.
static aclnnStatus SalsQsiPlan(const sals::host::PlanTensors& t, const sals::PlanArgs& a,
                               aclOpExecutor* executor) {
    L0_DFX(SalsQsiPlan, t.seq_lens, t.query_lens, t.query_start_loc, t.plan);
    static op::internal::AicpuTaskSpace space("SalsQsiPlan");
    const sals::SelectionArgs& s = a.selection;
    return ADD_TO_LAUNCHER_LIST_AICPU(
        SalsQsiPlan,
        OP_ATTR_NAMES({"n_idx", "s_q", "max_seq_len", "block_size", "keep_num", "keep_den", "min_blocks",
                       "max_blocks", "coverage", "sink_blocks", "tail_blocks", "query_layout", "num_cores"}),
        OP_INPUT(t.seq_lens, t.query_lens, t.query_start_loc), OP_OUTPUT(t.plan),
        OP_ATTR(a.heads, a.s_q, s.max_seq_len, s.block_size, s.keep_num, s.keep_den, s.min_blocks,
                s.max_blocks, static_cast<float>(s.coverage), s.sink_blocks, s.tail_blocks,
                a.request.query_layout.c_str(), a.num_cores));
}

}  // namespace l0op

extern "C" {

aclnnStatus aclnnSalsQsiPlanGetWorkspaceSize(const aclTensor* seqLens, const aclTensor* queryLensOptional,
                                             const aclTensor* queryStartLocOptional, int64_t nIdx, int64_t sQ,
                                             int64_t maxSeqLen, int64_t blockSize, int64_t keepNum,
                                             int64_t keepDen, int64_t minBlocks, int64_t maxBlocks,
                                             double coverage, int64_t sinkBlocks, int64_t tailBlocks,
                                             char* queryLayoutOptional, int64_t numCores,
                                             const aclTensor* out, uint64_t* workspaceSize,
                                             aclOpExecutor** executor) {
    L2_DFX_PHASE_1(aclnnSalsQsiPlan,
                   DFX_IN(seqLens, queryLensOptional, queryStartLocOptional, nIdx, sQ, maxSeqLen, blockSize,
                          keepNum, keepDen, minBlocks, maxBlocks, coverage, sinkBlocks, tailBlocks,
                          queryLayoutOptional, numCores),
                   DFX_OUT(out));
    sals::PlanArgs args;
    args.selection = sals::host::selection_of(maxSeqLen, blockSize, keepNum, keepDen, minBlocks, maxBlocks,
                                              coverage, sinkBlocks, tailBlocks);
    args.heads = nIdx;
    args.s_q = sQ;
    args.num_cores = numCores;
    return sals::host::prepare_plan(sals::host::QSI_PLAN.op, sals::PlanOp::QSI,
                                    {seqLens, queryLensOptional, queryStartLocOptional, out}, args,
                                    queryLayoutOptional, l0op::SalsQsiPlan, workspaceSize, executor);
}

aclnnStatus aclnnSalsQsiPlan(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                             aclrtStream stream) {
    L2_DFX_PHASE_2(aclnnSalsQsiPlan);
    return CommonOpExecutorRun(workspace, workspaceSize, executor, stream);
}

}  // extern "C"
