// SPDX-License-Identifier: Apache-2.0
#include "aicpu/task_call.h"

namespace sals::aicpu_task {
namespace {

const int32_t* words_of(const aicpu::Tensor* tensor) {
    return tensor == nullptr ? nullptr : static_cast<const int32_t*>(tensor->GetData());
}

}  // namespace

// A task does not have the inputs that the call left out, so the second one is query_start_loc in TND and
// query_lens in BSND: no call has both. An input without data is one that was left out, too.
aicpu::Tensor* TaskCall::input(const std::string& name) const {
    if (name == "seq_lens") return context_.Input(0);
    const bool is_tnd = text("query_layout") == "TND";
    if (name != (is_tnd ? "query_start_loc" : "query_lens")) return nullptr;
    for (uint32_t i = 1; i < context_.GetInputsSize(); ++i) {
        aicpu::Tensor* tensor = context_.Input(i);
        if (tensor != nullptr && tensor->GetData() != nullptr) return tensor;
    }
    return nullptr;
}

TensorSpec TaskCall::tensor(const char* name) const {
    const aicpu::Tensor* tensor = input(name);
    TensorSpec spec;
    spec.name = name;
    spec.present = tensor != nullptr;
    if (!spec.present) return spec;
    spec.dtype = tensor->GetDataType() == aicpu::DT_INT32 ? DType::INT32 : DType::OTHER;
    spec.dtype_text = dtype_name(spec.dtype);
    spec.device = "npu";
    spec.shape = tensor->GetTensorShape()->GetDimSizes();
    return spec;
}

RequestTensors TaskCall::request() const {
    RequestTensors request;
    request.seq_lens = words_of(input("seq_lens"));
    request.query_lens = words_of(input("query_lens"));
    request.query_start_loc = words_of(input("query_start_loc"));
    return request;
}

int32_t* TaskCall::plan() const {
    aicpu::Tensor* tensor = context_.Output(0);
    const bool has_room = tensor != nullptr && tensor->NumElements() == PLAN_WORDS;
    return has_room ? static_cast<int32_t*>(tensor->GetData()) : nullptr;
}

}  // namespace sals::aicpu_task
