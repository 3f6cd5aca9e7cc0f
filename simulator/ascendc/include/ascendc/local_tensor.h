// SPDX-License-Identifier: Apache-2.0
// local_tensor.h - a piece of on-chip memory seen as elements of T. Element access is done by the scalar
// unit.
#pragma once
#include <cstdint>
#include <cstring>

#include "ascendc/half.h"
#include "ascendc/int4.h"
#include "ascendc/macros.h"
#include "ascendc/shape_info.h"
#include "ascendc/types.h"

namespace AscendC {

template <class T>
class LocalTensor;

// What operator() of a LocalTensor returns: reads and writes go through the scalar unit like GetValue,
// SetValue.
template <class T>
class LocalElement {
public:
    LocalElement(const LocalTensor<T>& tensor, uint32_t index, sim::Where where)
        : tensor_(tensor), index_(index), where_(where) {}
    operator T() const { return tensor_.GetValue(index_, where_); }
    // Class types such as half also convert to float in one step.
    template <class U, std::enable_if_t<!std::is_arithmetic_v<T> && std::is_same_v<U, float>, int> = 0>
    operator U() const {
        return this->operator T();
    }
    const LocalElement& operator=(T value) const {
        tensor_.SetValue(index_, value, where_);
        return *this;
    }
    const LocalElement& operator=(const LocalElement& other) const { return *this = other.operator T(); }

private:
    const LocalTensor<T>& tensor_;
    uint32_t index_;
    sim::Where where_;
};

template <class T>
class LocalTensor {
public:
    using PrimType = T;

    LocalTensor() = default;
    // `address` is a byte offset in the memory of `position`; `elements` may be rounded up by allocators.
    LocalTensor(TPosition position, uint32_t address, uint32_t elements)
        : begin_(address), size_(elements), position_(position) {}

    T GetValue(uint32_t index, sim::Where where = sim::Where::here()) const {
        T value{};
        uint8_t* byte = scalar_bytes(index, false, where);
        if (byte == nullptr) return value;
        if constexpr (std::is_same_v<T, int4b_t>) {
            value = int4b_t(*byte >> (4 * (index % 2)));
        } else {
            std::memcpy(&value, byte, sizeof(T));
        }
        return value;
    }

    template <class U>
    void SetValue(uint32_t index, U value, sim::Where where = sim::Where::here()) const {
        uint8_t* byte = scalar_bytes(index, true, where);
        if (byte == nullptr) return;
        if constexpr (std::is_same_v<T, int4b_t>) {
            const int shift = 4 * static_cast<int>(index % 2);
            const int nibble = static_cast<int>(int4b_t(value).storage) & 0xF;
            *byte = static_cast<uint8_t>((*byte & ~(0xF << shift)) | (nibble << shift));
        } else {
            const T element = static_cast<T>(value);
            std::memcpy(byte, &element, sizeof(T));
        }
    }

    LocalElement<T> operator()(uint32_t index, sim::Where where = sim::Where::here()) const {
        return LocalElement<T>(*this, index, where);
    }

    // The same memory from element `offset` on.
    LocalTensor operator[](uint32_t offset) const {
        LocalTensor rest = *this;
        rest.begin_ += sim_bytes<T>(offset);
        rest.size_ = offset < size_ ? size_ - offset : 0;
        return rest;
    }

    template <class U>
    LocalTensor<U> ReinterpretCast() const {
        const uint64_t elements = sim_elements<U>(sim_bytes<T>(size_));
        return LocalTensor<U>(position_, static_cast<uint32_t>(begin_), static_cast<uint32_t>(elements));
    }

    uint32_t GetSize() const { return size_; }
    void SetSize(uint32_t elements) { size_ = elements; }
    int32_t GetPosition() const { return static_cast<int32_t>(position_); }
    uint64_t GetPhyAddr() const { return begin_; }
    uint64_t GetPhyAddr(uint32_t offset) const { return begin_ + sim_bytes<T>(offset); }
    void SetShapeInfo(const ShapeInfo& info) { shape_info_ = info; }
    ShapeInfo GetShapeInfo() const { return shape_info_; }

    sim::Mem sim_mem() const { return mem_of(position_); }
    uint64_t sim_begin() const { return begin_; }

private:
    // The byte(s) of an element after the engine has let the access pass; null: it was refused.
    uint8_t* scalar_bytes(uint32_t index, bool write, sim::Where where) const {
        sim::Core& core = sim::Core::current();
        const uint64_t address = begin_ + sim_bytes<T>(index);
        if (!core.scalar_access(sim_mem(), address, sizeof(T), write, where)) return nullptr;
        return core.memory(sim_mem()).data.data() + address;
    }

    uint64_t begin_ = 0;
    uint32_t size_ = 0;
    TPosition position_ = TPosition::VECCALC;
    ShapeInfo shape_info_;
};

}  // namespace AscendC
