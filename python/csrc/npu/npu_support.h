// SPDX-License-Identifier: Apache-2.0
// npu_support.h - what the NPU operators ask their device.
#pragma once
#include <ATen/core/Tensor.h>

#include "ops/device_results.h"

namespace sals::ops {

int64_t core_count(const at::Device& device);

}  // namespace sals::ops
