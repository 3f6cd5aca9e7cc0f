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

aclnnStatus check_plan_call(const char* op, PlanOp kind, const PlanTensors& tensors, PlanArgs& args) {
    args.request.seq_lens = spec_of("seq_lens", tensors.seq_lens);
    args.request.query_lens = spec_of("query_lens", tensors.query_lens);
    args.request.query_start_loc = spec_of("query_start_loc", tensors.query_start_loc);
    args.request.plan = spec_of("plan", tensors.plan);
    PlanProblem problem;
    Status status = validate(op, kind, op::GetCurrentPlatformInfo().GetCubeCoreNum(), args, problem);
    if (status.ok()) status = check_plan_memory(op, args.request);
    if (!status.ok()) {
        OP_LOGE(ACLNN_ERR_PARAM_INVALID, "%s", status.text.c_str());
        return ACLNN_ERR_PARAM_INVALID;
    }
    args.num_cores = problem.num_cores;
    return ACLNN_SUCCESS;
}

}  // namespace sals::host
