// SPDX-License-Identifier: Apache-2.0
#include "operators/arguments.h"

#include "acl/error.h"

namespace sals::npu {
namespace {

DType dtype_of(aclDataType dtype) {
    switch (dtype) {
        case ACL_FLOAT16:
            return DType::FLOAT16;
        case ACL_BF16:
            return DType::BFLOAT16;
        case ACL_FLOAT:
            return DType::FLOAT32;
        case ACL_INT8:
            return DType::INT8;
        case ACL_INT32:
            return DType::INT32;
        default:
            return DType::OTHER;
    }
}

}  // namespace

TensorSpec spec_of(const char* name, const aclTensor* tensor) {
    TensorSpec spec;
    spec.name = name;
    spec.present = tensor != nullptr;
    if (!spec.present) return spec;
    spec.dtype = dtype_of(tensor->dtype);
    spec.dtype_text = dtype_name(spec.dtype);
    spec.device = "npu";
    spec.shape = tensor->shape;
    spec.contiguous = tensor->is_contiguous();
    return spec;
}

RequestArgs request_of(const aclTensor* seq_lens, const aclTensor* query_lens,
                       const aclTensor* query_start_loc, const char* query_layout) {
    RequestArgs r;
    r.seq_lens = spec_of("seq_lens", seq_lens);
    r.query_lens = spec_of("query_lens", query_lens);
    r.query_start_loc = spec_of("query_start_loc", query_start_loc);
    r.query_layout = query_layout;
    return r;
}

void check_result(Checker& check, const TensorSpec& result, const std::vector<int64_t>& shape, DType dtype) {
    check.present(result);
    check.dtype(result, {dtype});
    check.shape(result, "of the result", shape);
    check.contiguous(result);
}

int refuse(const Status& status) { return fail(ACL_ERROR_INVALID_PARAM, status.text); }

}  // namespace sals::npu
