// SPDX-License-Identifier: Apache-2.0
#include "ops/device_results.h"

#include <ATen/ops/empty.h>

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

}  // namespace sals::ops
