// SPDX-License-Identifier: Apache-2.0
// cache_launch.h - what the launches of project_query and write_cache have in common. Host only.
#pragma once
#include <string>

#include "sals/cache_policy.h"
#include "sals/qsi_policy.h"
#include "sals/tensor_spec.h"

namespace sals {

// `dtype` has passed the operator's check.
inline VectorDType vector_dtype(DType dtype) {
    if (dtype == DType::FLOAT16) return VectorDType::FLOAT16;
    return dtype == DType::BFLOAT16 ? VectorDType::BFLOAT16 : VectorDType::FLOAT32;
}

// The indexer reads no other rank there.
inline void check_device_rank(Checker& check, int64_t rank) {
    check.require(is_device_rank(rank),
                  "projection must have rank 64, 128 or 256 on an NPU (pad with zeros), got rank " +
                      std::to_string(rank));
}

}  // namespace sals
