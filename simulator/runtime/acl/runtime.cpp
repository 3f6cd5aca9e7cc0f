// SPDX-License-Identifier: Apache-2.0
#include "acl/runtime.h"

#include <utility>

#include "acl/faults.h"
#include "acl/machine.h"
#include "acl/settings.h"

namespace sals::npu {

uint8_t* window(const void* address) {
    const DeviceMemory* memory = memory_of(address);
    return memory == nullptr ? static_cast<uint8_t*>(const_cast<void*>(address)) : memory->window(address);
}

bool is_allocated(const void* address, uint64_t bytes) {
    const DeviceMemory* memory = memory_of(address);
    return memory != nullptr && memory->bytes_from(address) >= bytes;
}

aclError launch(aclrtStream stream, Task task) {
    if (is_refused_launch()) {
        return fail(ACL_ERROR_RT_STREAM_TASK_FULL, task.name + ": the launch was refused, as the test asked");
    }
    if (is_failing_launch()) {
        task.run = [name = task.name] {
            return Outcome{ACL_ERROR_RT_AICORE_EXCEPTION, name + ": the kernel failed, as the test asked"};
        };
    }
    return put(stream, std::move(task));
}

int32_t core_count() { return settings().cores; }

}  // namespace sals::npu
