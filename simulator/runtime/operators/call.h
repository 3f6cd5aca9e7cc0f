// SPDX-License-Identifier: Apache-2.0
// call.h - the arguments of an aclnn function, by the places and names of the operator's registration (see
// sals/read_calls.h).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/signature.h"
#include "opapi/objects.h"
#include "sals/request_axis.h"

namespace sals::npu {

// An attribute as tiling functions and AI CPU tasks see it: CANN hands reals over as float32.
class Attribute {
public:
    Attribute(int64_t value) : value_(value) {}
    Attribute(double value) : value_(static_cast<float>(value)) {}
    Attribute(bool value) : value_(value) {}
    Attribute(const char* value) : value_(std::string(value)) {}

    template <class T>
    const T& as() const {
        return std::get<T>(value_);
    }
    template <class Visitor>
    auto visit(Visitor&& visitor) const {
        return std::visit(visitor, value_);
    }
    const void* address() const;  // of the number, or of the first character

private:
    std::variant<int64_t, float, bool, std::string> value_;
};

struct Call {
    const host::Signature& signature;
    std::vector<const aclTensor*> inputs;  // null: left out
    std::vector<Attribute> attributes;
    std::vector<const aclTensor*> outputs;  // without those that are inputs, too

    bool has(std::string_view name) const;
    int64_t integer(std::string_view name) const { return attribute(name).as<int64_t>(); }
    double real(std::string_view name) const { return attribute(name).as<float>(); }
    bool flag(std::string_view name) const { return attribute(name).as<bool>(); }
    const std::string& text(std::string_view name) const { return attribute(name).as<std::string>(); }
    TensorSpec tensor(const char* name) const;

private:
    const Attribute& attribute(std::string_view name) const;
};

TensorSpec spec_of(const char* name, const aclTensor* tensor);  // null: absent

// The functions that CANN generates copy strided tensors, except caches. This runtime copies none.
void check_contiguous(Checker& check, const Call& call);

}  // namespace sals::npu
