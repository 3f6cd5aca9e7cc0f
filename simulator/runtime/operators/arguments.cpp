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

int refuse(const Status& status) { return fail(ACL_ERROR_INVALID_PARAM, status.text); }

}  // namespace sals::npu
