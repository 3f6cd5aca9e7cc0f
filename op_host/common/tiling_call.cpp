// SPDX-License-Identifier: Apache-2.0
#include "common/tiling_call.h"

namespace sals::host {
namespace {

struct TypePair {
    DType ours;
    ge::DataType theirs;
};

constexpr std::array<TypePair, 5> TYPES = {{{DType::FLOAT16, ge::DT_FLOAT16},
                                            {DType::BFLOAT16, ge::DT_BF16},
                                            {DType::FLOAT32, ge::DT_FLOAT},
                                            {DType::INT8, ge::DT_INT8},
                                            {DType::INT32, ge::DT_INT32}}};

}  // namespace

DType dtype_of(ge::DataType type) {
    for (const TypePair& pair : TYPES) {
        if (pair.theirs == type) return pair.ours;
    }
    return DType::OTHER;
}

ge::DataType ge_type_of(DType type) {
    for (const TypePair& pair : TYPES) {
        if (pair.ours == type) return pair.theirs;
    }
    return ge::DT_UNDEFINED;
}

std::vector<int64_t> sizes_of(const gert::Shape& shape) {
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < shape.GetDimNum(); ++i) sizes.push_back(shape.GetDim(i));
    return sizes;
}

// All tensors are on the device of the call, and side by side: the aclnn function saw to that.
TensorSpec TilingCall::tensor(const char* name) const {
    const size_t index = index_of(signature_.inputs, name);
    const gert::StorageShape* shape = context_.GetOptionalInputShape(index);
    const gert::CompileTimeTensorDesc* desc = context_.GetOptionalInputDesc(index);
    TensorSpec spec;
    spec.name = name;
    spec.present = shape != nullptr && desc != nullptr;
    if (!spec.present) return spec;
    spec.dtype = dtype_of(desc->GetDataType());
    spec.dtype_text = dtype_name(spec.dtype);
    spec.device = "npu";
    spec.shape = sizes_of(shape->GetOriginShape());
    return spec;
}

}  // namespace sals::host
