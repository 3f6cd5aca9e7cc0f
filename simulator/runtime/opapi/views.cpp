// SPDX-License-Identifier: Apache-2.0
#include "opapi/views.h"

#include <ATen/ops/from_blob.h>

#include <cstring>

#include "acl/runtime.h"

namespace sals::npu {
namespace {

template <class T>
T value_of(const aclScalar* scalar) {
    T value;
    std::memcpy(&value, scalar->bytes.data(), sizeof(value));
    return value;
}

}  // namespace

at::ScalarType scalar_type_of(aclDataType dtype) {
    switch (dtype) {
        case ACL_BOOL:
            return at::kBool;
        case ACL_INT8:
            return at::kChar;
        case ACL_UINT8:
            return at::kByte;
        case ACL_INT16:
            return at::kShort;
        case ACL_INT32:
            return at::kInt;
        case ACL_INT64:
            return at::kLong;
        case ACL_FLOAT16:
            return at::kHalf;
        case ACL_BF16:
            return at::kBFloat16;
        case ACL_FLOAT:
            return at::kFloat;
        case ACL_DOUBLE:
            return at::kDouble;
        default:
            TORCH_CHECK(false, "aclDataType ", static_cast<int>(dtype), " is not simulated");
    }
}

at::Tensor view_of(const aclTensor* tensor) {
    const auto options = at::TensorOptions().dtype(scalar_type_of(tensor->dtype)).device(at::kCPU);
    return at::from_blob(window(tensor->data()), tensor->shape, tensor->strides, options);
}

std::vector<at::Tensor> views_of(const aclTensorList* list) {
    std::vector<at::Tensor> views;
    for (const aclTensor* tensor : list->tensors) views.push_back(view_of(tensor));
    return views;
}

at::Scalar scalar_of(const aclScalar* scalar) {
    switch (scalar->dtype) {
        case ACL_BOOL:
            return value_of<bool>(scalar);
        case ACL_INT32:
            return value_of<int32_t>(scalar);
        case ACL_INT64:
            return value_of<int64_t>(scalar);
        case ACL_FLOAT:
            return value_of<float>(scalar);
        case ACL_DOUBLE:
            return value_of<double>(scalar);
        case ACL_FLOAT16:
            return static_cast<double>(value_of<at::Half>(scalar));
        case ACL_BF16:
            return static_cast<double>(value_of<at::BFloat16>(scalar));
        default:
            TORCH_CHECK(false, "a scalar of aclDataType ", static_cast<int>(scalar->dtype),
                        " is not simulated");
    }
}

}  // namespace sals::npu
