// SPDX-License-Identifier: Apache-2.0
// signature.h - what an operator is called with, in the order in which its aclnn function takes it: inputs,
// attributes, outputs. One table per operator; the registration, the tiling and the tests read it. The order
// is that of the operator's schema in torch.ops.sals. Needs no CANN.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sals/tensor_spec.h"

namespace sals::host {

// Types of a tensor in each variant of the operator; a single one holds for all variants.
struct Types {
    static constexpr size_t MOST = 3;
    std::array<DType, MOST> in_variant;
    size_t count;
    constexpr DType of(size_t variant) const { return in_variant[count == 1 ? 0 : variant]; }
};

constexpr Types always(DType type) { return {{type, type, type}, 1}; }

// An operator that takes fp16 or bf16, and one that takes fp32 as well.
inline constexpr Types HALVES = {{DType::FLOAT16, DType::BFLOAT16}, 2};
inline constexpr Types FLOATS = {{DType::FLOAT16, DType::BFLOAT16, DType::FLOAT32}, 3};

enum class Memory {
    PACKED_BY_CALL,  // the aclnn function copies a strided tensor side by side first
    AS_IT_IS,        // a cache: too large to copy, and written in place; the caller keeps it contiguous
};

struct Port {
    const char* name;
    bool is_required;
    Types types;
    Memory memory = Memory::PACKED_BY_CALL;
};

constexpr Port required(const char* name, Types types) { return {name, true, types}; }
constexpr Port optional(const char* name, Types types) { return {name, false, types}; }
constexpr Port cache(const char* name, Types types) { return {name, true, types, Memory::AS_IT_IS}; }
constexpr Port optional_cache(const char* name, Types types) {
    return {name, false, types, Memory::AS_IT_IS};
}

enum class Kind { INTEGER, REAL, FLAG, TEXT };

struct Attribute {
    const char* name;
    Kind kind;
    bool is_required;
    double number = 0.0;  // default of the three kinds of numbers
    const char* text = "";
};

constexpr Attribute required(const char* name, Kind kind) { return {name, kind, true}; }
constexpr Attribute integer(const char* name, int64_t value) {
    return {name, Kind::INTEGER, false, static_cast<double>(value)};
}
constexpr Attribute real(const char* name, double value) { return {name, Kind::REAL, false, value}; }
constexpr Attribute flag(const char* name, bool value) {
    return {name, Kind::FLAG, false, value ? 1.0 : 0.0};
}
constexpr Attribute text(const char* name, const char* value) {
    return {name, Kind::TEXT, false, 0.0, value};
}

// A view of a constant array.
template <class T>
struct List {
    const T* first = nullptr;
    size_t count = 0;
    constexpr List() = default;
    template <size_t N>
    constexpr List(const std::array<T, N>& items) : first(items.data()), count(N) {}
    constexpr const T* begin() const { return first; }
    constexpr const T* end() const { return first + count; }
};

struct Signature {
    const char* op;  // as error messages name it
    size_t variants;
    List<Port> inputs;
    List<Attribute> attributes;
    List<Port> outputs;
};

inline constexpr size_t NOT_FOUND = SIZE_MAX;

template <class T>
constexpr size_t index_of(const List<T>& list, std::string_view name) {
    for (size_t i = 0; i < list.count; ++i) {
        if (name == list.first[i].name) return i;
    }
    return NOT_FOUND;
}

}  // namespace sals::host
