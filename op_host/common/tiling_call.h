// SPDX-License-Identifier: Apache-2.0
// tiling_call.h - the arguments of a call as a tiling function sees them, by name (see sals/read_calls.h).
#pragma once
#include <string>
#include <string_view>

#include "common/signature.h"
#include "register/op_def_registry.h"

namespace sals::host {

DType dtype_of(ge::DataType type);
ge::DataType ge_type_of(DType type);

std::vector<int64_t> sizes_of(const gert::Shape& shape);

// Attributes of a call, whatever the context it is made in.
class AttributeCall {
public:
    AttributeCall(const Signature& signature, const gert::RuntimeAttrs* attributes)
        : signature_(signature), attributes_(attributes) {}

    bool has(std::string_view name) const {
        return index_of(signature_.attributes, name) != NOT_FOUND ||
               index_of(signature_.inputs, name) != NOT_FOUND;
    }
    int64_t integer(std::string_view name) const { return value<int64_t>(name); }
    double real(std::string_view name) const { return value<float>(name); }
    bool flag(std::string_view name) const { return value<bool>(name); }
    std::string text(std::string_view name) const { return attributes_->GetStr(position(name)); }

protected:
    const Signature& signature_;

private:
    size_t position(std::string_view name) const { return index_of(signature_.attributes, name); }

    template <class T>
    T value(std::string_view name) const {
        return *attributes_->GetAttrPointer<T>(position(name));
    }

    const gert::RuntimeAttrs* attributes_;
};

class TilingCall : public AttributeCall {
public:
    TilingCall(const Signature& signature, const gert::TilingContext& context)
        : AttributeCall(signature, context.GetAttrs()), context_(context) {}

    TensorSpec tensor(const char* name) const;

private:
    const gert::TilingContext& context_;
};

}  // namespace sals::host
