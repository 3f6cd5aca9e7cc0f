// SPDX-License-Identifier: Apache-2.0
// device_results.h - what operators on every device do: contiguous inputs, placed results.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/read_calls.h"

namespace sals::ops {

// The tensor side by side in memory; undefined stays undefined.
at::Tensor packed(const Arguments& a, const char* name);

// A new tensor, or for the .out form the caller's, which must have just this shape and dtype.
at::Tensor result_on(const Arguments& a, const char* name, const std::vector<int64_t>& shape,
                     at::ScalarType type, const at::Device& device);

}  // namespace sals::ops
