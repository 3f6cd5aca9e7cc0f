// SPDX-License-Identifier: Apache-2.0
#include "operators/call.h"

#include "common/tiling_call.h"

namespace sals::npu {

const void* Attribute::address() const {
    return visit([](const auto& value) -> const void* {
        if constexpr (std::is_same_v<decltype(value), const std::string&>) {
            return value.c_str();
        } else {
            return &value;
        }
    });
}

bool Call::has(std::string_view name) const {
    return host::index_of(signature.attributes, name) != host::NOT_FOUND ||
           host::index_of(signature.inputs, name) != host::NOT_FOUND;
}

const Attribute& Call::attribute(std::string_view name) const {
    return attributes.at(host::index_of(signature.attributes, name));
}

TensorSpec Call::tensor(const char* name) const {
    return spec_of(name, inputs.at(host::index_of(signature.inputs, name)));
}

TensorSpec spec_of(const char* name, const aclTensor* tensor) {
    TensorSpec spec;
    spec.name = name;
    spec.present = tensor != nullptr;
    if (!spec.present) return spec;
    spec.dtype = host::dtype_of(static_cast<ge::DataType>(tensor->dtype));  // CANN has one set of numbers
    spec.dtype_text = dtype_name(spec.dtype);
    spec.device = "npu";
    spec.shape = tensor->shape;
    spec.contiguous = tensor->is_contiguous();
    return spec;
}

void check_contiguous(Checker& check, const Call& call) {
    for (const host::Port& port : call.signature.inputs) {
        const TensorSpec spec = call.tensor(port.name);
        if (spec.present) check.contiguous(spec);
    }
}

}  // namespace sals::npu
