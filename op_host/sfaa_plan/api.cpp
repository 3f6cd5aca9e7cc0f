// SPDX-License-Identifier: Apache-2.0
#include "common/plan_task.h"
#include "sfaa_plan/aclnn_sals_sfaa_plan.h"
#include "sfaa_plan/signature.h"

namespace l0op {

OP_TYPE_REGISTER(SalsSfaaPlan);

// Null inputs are left out of the task; the AI CPU tells the rest apart by query_layout.
static aclnnStatus SalsSfaaPlan(const sals::host::PlanTensors& t, const sals::PlanArgs& a,
                                aclOpExecutor* executor) {
    L0_DFX(SalsSfaaPlan, t.seq_lens, t.query_lens, t.query_start_loc, t.plan);
    static op::internal::AicpuTaskSpace space("SalsSfaaPlan");
    const sals::SelectionArgs& s = a.selection;
    return ADD_TO_LAUNCHER_LIST_AICPU(
        SalsSfaaPlan,
        OP_ATTR_NAMES({"n_kv", "group", "s_q", "shared_list", "max_seq_len", "block_size", "keep_num",
                       "keep_den", "min_blocks", "max_blocks", "coverage", "sink_blocks", "tail_blocks",
                       "query_layout", "num_cores"}),
        OP_INPUT(t.seq_lens, t.query_lens, t.query_start_loc), OP_OUTPUT(t.plan),
        OP_ATTR(a.heads, a.group, a.s_q, a.shared_list, s.max_seq_len, s.block_size, s.keep_num, s.keep_den,
                s.min_blocks, s.max_blocks, static_cast<float>(s.coverage), s.sink_blocks, s.tail_blocks,
                a.request.query_layout.c_str(), a.num_cores));
}

}  // namespace l0op

extern "C" {

aclnnStatus aclnnSalsSfaaPlanGetWorkspaceSize(
    const aclTensor* seqLens, const aclTensor* queryLensOptional, const aclTensor* queryStartLocOptional,
    int64_t nKv, int64_t group, int64_t sQ, bool sharedList, int64_t maxSeqLen, int64_t blockSize,
    int64_t keepNum, int64_t keepDen, int64_t minBlocks, int64_t maxBlocks, double coverage,
    int64_t sinkBlocks, int64_t tailBlocks, char* queryLayoutOptional, int64_t numCores, const aclTensor* out,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
    L2_DFX_PHASE_1(aclnnSalsSfaaPlan,
                   DFX_IN(seqLens, queryLensOptional, queryStartLocOptional, nKv, group, sQ, sharedList,
                          maxSeqLen, blockSize, keepNum, keepDen, minBlocks, maxBlocks, coverage, sinkBlocks,
                          tailBlocks, queryLayoutOptional, numCores),
                   DFX_OUT(out));
    sals::PlanArgs args;
    args.selection = sals::host::selection_of(maxSeqLen, blockSize, keepNum, keepDen, minBlocks, maxBlocks,
                                              coverage, sinkBlocks, tailBlocks);
    args.heads = nKv;
    args.group = group;
    args.s_q = sQ;
    args.shared_list = sharedList;
    args.num_cores = numCores;
    return sals::host::prepare_plan(sals::host::SFAA_PLAN.op, sals::PlanOp::SFAA,
                                    {seqLens, queryLensOptional, queryStartLocOptional, out}, args,
                                    queryLayoutOptional, l0op::SalsSfaaPlan, workspaceSize, executor);
}

aclnnStatus aclnnSalsSfaaPlan(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                              aclrtStream stream) {
    L2_DFX_PHASE_2(aclnnSalsSfaaPlan);
    return CommonOpExecutorRun(workspace, workspaceSize, executor, stream);
}

}  // extern "C"
