// SPDX-License-Identifier: Apache-2.0
// trace.h - SALS_NPU_TRACE names a file to which every finished task appends one line:
// device, stream, task, the failure if there was one, and Outcome::host_function, separated by tabs.
#pragma once
#include <cstdint>
#include <string>

#include "acl/error.h"

namespace sals::npu {

void trace(int32_t device, int32_t stream, const std::string& task, const Outcome& outcome);

}  // namespace sals::npu
