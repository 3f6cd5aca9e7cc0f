// SPDX-License-Identifier: Apache-2.0
// arguments.h - arguments of the operators' aclnn functions as the contract's checks see them.
#pragma once
#include <cstdint>

#include "opapi/objects.h"
#include "sals/request_axis.h"

namespace sals::npu {

TensorSpec spec_of(const char* name, const aclTensor* tensor);  // null: absent
RequestArgs request_of(const aclTensor* seq_lens, const aclTensor* query_lens,
                       const aclTensor* query_start_loc, const char* query_layout);

// A result must have just this shape, and hold its elements side by side.
void check_result(Checker& check, const TensorSpec& result, const std::vector<int64_t>& shape, DType dtype);

// The sentence of a broken rule becomes the error of the first phase.
int refuse(const Status& status);

}  // namespace sals::npu
