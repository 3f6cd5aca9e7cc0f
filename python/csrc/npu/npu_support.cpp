// SPDX-License-Identifier: Apache-2.0
#include "npu/npu_support.h"

#include <c10/util/Exception.h>

#include "acl/acl.h"

namespace sals::ops {

int64_t core_count(const at::Device& device) {
    int64_t count = 0;
    const auto index = static_cast<uint32_t>(device.index());
    const aclError status = aclGetDeviceCapability(index, ACL_DEVICE_INFO_AI_CORE_NUM, &count);
    TORCH_CHECK(status == ACL_ERROR_NONE, "aclGetDeviceCapability failed with error ", status);
    return count;
}

}  // namespace sals::ops
