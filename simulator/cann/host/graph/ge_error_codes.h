// SPDX-License-Identifier: Apache-2.0
// ge_error_codes.h - stands in for CANN's header.
#pragma once
#include <cstdint>

namespace ge {
using graphStatus = uint32_t;
inline constexpr graphStatus GRAPH_SUCCESS = 0;
inline constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
}  // namespace ge
