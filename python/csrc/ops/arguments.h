// SPDX-License-Identifier: Apache-2.0
// arguments.h - arguments of a boxed operator call by name, so that no backend repeats a schema.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/SymInt.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sals::ops {

class Arguments {
public:
    Arguments(const c10::OperatorHandle& op, torch::jit::Stack& stack)
        : schema_(op.schema()), stack_(stack), first_(stack.size() - op.schema().arguments().size()) {}

    const char* op() const { return schema_.name().c_str(); }  // "sals::qsi"
    bool is_out() const { return schema_.overload_name() == "out"; }

    at::Tensor tensor(std::string_view name) const {  // undefined if None
        const c10::IValue& v = value(name);
        return v.isNone() ? at::Tensor() : v.toTensor();
    }
    int64_t integer(std::string_view name) const { return value(name).toInt(); }
    c10::SymInt sym_int(std::string_view name) const { return value(name).toSymInt(); }
    double real(std::string_view name) const { return value(name).toDouble(); }
    bool flag(std::string_view name) const { return value(name).toBool(); }
    std::string text(std::string_view name) const { return value(name).toStringRef(); }
    bool has(std::string_view name) const { return find(name) >= 0; }

    // Replaces the arguments on the stack by the results. The object is of no use afterwards.
    void give(std::vector<c10::IValue> results) {
        stack_.resize(first_);
        for (c10::IValue& r : results) stack_.push_back(std::move(r));
    }

private:
    int64_t find(std::string_view name) const {
        const auto& arguments = schema_.arguments();
        for (size_t i = 0; i < arguments.size(); ++i) {
            if (arguments[i].name() == name) return static_cast<int64_t>(i);
        }
        return -1;
    }

    const c10::IValue& value(std::string_view name) const {
        const int64_t i = find(name);
        TORCH_INTERNAL_ASSERT(i >= 0, op(), " has no argument ", std::string(name));
        return stack_[first_ + static_cast<size_t>(i)];
    }

    const c10::FunctionSchema& schema_;
    torch::jit::Stack& stack_;
    size_t first_;
};

}  // namespace sals::ops
