// SPDX-License-Identifier: Apache-2.0
#include "common/plan_api.h"

#include "aclnn_kernels/common/op_error_check.h"
#include "opdev/common_types.h"
#include "opdev/op_log.h"
#include "opdev/platform.h"
#include "opdev/tensor_view_utils.h"

namespace sals::host {
namespace {

// dtypes other than the one that plans know need no name of their own here
TensorSpec spec_of(const char* name, const aclTensor* tensor) {
    TensorSpec spec;
    spec.name = name;
    spec.present = tensor != nullptr;
    if (!spec.present) return spec;
    spec.dtype = tensor->GetDataType() == op::DataType::DT_INT32 ? DType::INT32 : DType::OTHER;
    spec.dtype_text = dtype_name(spec.dtype);
    spec.device = "npu";
    spec.contiguous = op::IsContiguous(tensor);
    const op::Shape& shape = tensor->GetViewShape();
    for (size_t i = 0; i < shape.GetDimNum(); ++i) spec.shape.push_back(shape.GetDim(i));
    return spec;
}

}  // namespace

SelectionArgs selection_of(int64_t max_seq_len, int64_t block_size, int64_t keep_num, int64_t keep_den,
                           int64_t min_blocks, int64_t max_blocks, double coverage, int64_t sink_blocks,
                           int64_t tail_blocks) {
    SelectionArgs s;
    s.max_seq_len = max_seq_len;
    s.block_size = block_size;
    s.keep_num = keep_num;
    s.keep_den = keep_den;
    s.min_blocks = min_blocks;
    s.max_blocks = max_blocks;
    s.coverage = coverage;
    s.sink_blocks = sink_blocks;
    s.tail_blocks = tail_blocks;
    return s;
}

aclnnStatus check_plan_call(const char* op, PlanOp kind, const PlanTensors& tensors, PlanArgs args,
                            const char* query_layout, PlanProblem& problem) {
    args.request.seq_lens = spec_of("seq_lens", tensors.seq_lens);
    args.request.query_lens = spec_of("query_lens", tensors.query_lens);
    args.request.query_start_loc = spec_of("query_start_loc", tensors.query_start_loc);
    args.request.query_layout = query_layout;
    args.request.plan = spec_of("plan", tensors.plan);
    const int64_t cores = op::GetCurrentPlatformInfo().GetCubeCoreNum();
    Status status = validate(op, kind, cores, args, problem);
    if (status.ok()) {
        const RequestArgs& r = args.request;
        Checker check(op);
        for (const TensorSpec* t : {&r.seq_lens, &r.query_lens, &r.query_start_loc, &r.plan})
            check.contiguous(*t);
        check.present(r.plan);
        check.shape(r.plan, "[plan_words]", {PLAN_WORDS});
        status = check.status();
    }
    if (status.ok()) return ACLNN_SUCCESS;
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "%s", status.text.c_str());
    return ACLNN_ERR_PARAM_INVALID;
}

}  // namespace sals::host
