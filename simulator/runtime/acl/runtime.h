// SPDX-License-Identifier: Apache-2.0
// runtime.h - what libraries of operators need of the simulated runtime, beside ACL itself.
#pragma once
#include <cstdint>

#include "acl/error.h"
#include "acl/stream.h"

namespace sals::npu {

// Where operators and kernels reach device memory; the address itself for host memory.
uint8_t* window(const void* address);

// Whether [address, address + bytes) lies in one allocation of a device.
bool is_allocated(const void* address, uint64_t bytes);

// Puts the work of an operator on a stream (null: the default one). It can be made to fail: faults.h.
aclError launch(aclrtStream stream, Task task);

int32_t core_count();

}  // namespace sals::npu
