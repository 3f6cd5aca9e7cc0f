// SPDX-License-Identifier: Apache-2.0
#include "npu/npu_support.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include "acl/acl.h"

namespace sals::ops {

at::Tensor packed(const Arguments& a, const char* name) {
    const at::Tensor tensor = a.tensor(name);
    return tensor.defined() ? tensor.contiguous() : tensor;
}

at::Tensor result_on(const Arguments& a, const char* name, const std::vector<int64_t>& shape,
                     at::ScalarType type, const at::Device& device) {
    if (!a.is_out()) return at::empty(shape, at::TensorOptions().dtype(type).device(device));
    const at::Tensor out = a.tensor(name);
    const TensorSpec spec = spec_of(name, out);
    TensorSpec leader;
    leader.name = "the inputs";
    leader.device = device.str();
    Checker check(a.op());
    check.present(spec);
    check.same_device(spec, leader);
    check.dtype(spec, {dtype_of(type)});
    check.shape(spec, "of the result", shape);
    check.contiguous(spec);
    raise_unless_ok(check.status());
    return out;
}

int64_t core_count(const at::Device& device) {
    int64_t count = 0;
    const auto index = static_cast<uint32_t>(device.index());
    const aclError status = aclGetDeviceCapability(index, ACL_DEVICE_INFO_AI_CORE_NUM, &count);
    TORCH_CHECK(status == ACL_ERROR_NONE, "aclGetDeviceCapability failed with error ", status);
    return count;
}

}  // namespace sals::ops
