// SPDX-License-Identifier: Apache-2.0
// views.h - arguments of aclnn functions as ATen sees them on a CPU.
#pragma once
#include <ATen/core/Tensor.h>

#include "opapi/objects.h"

namespace sals::npu {

at::ScalarType scalar_type_of(aclDataType dtype);  // throws c10::Error for one that is not simulated
at::Tensor view_of(const aclTensor* tensor);       // of the device memory itself
std::vector<at::Tensor> views_of(const aclTensorList* list);
at::Scalar scalar_of(const aclScalar* scalar);

}  // namespace sals::npu
