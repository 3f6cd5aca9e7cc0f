// SPDX-License-Identifier: Apache-2.0
// global_tensor.h - a piece of global memory seen as elements of T. Element access is done by the scalar unit
// through its data cache.
#pragma once
#include <cstdint>

#include "ascendc/half.h"
#include "ascendc/int4.h"
#include "ascendc/macros.h"
#include "ascendc/shape_info.h"
#include "ascendc/types.h"

namespace AscendC {

template <class T>
class GlobalTensor;

// What operator() of a GlobalTensor returns: reads and writes like GetValue, SetValue.
template <class T>
class GlobalElement {
public:
    GlobalElement(const GlobalTensor<T>& tensor, uint64_t index, sim::Where where)
        : tensor_(tensor), index_(index), where_(where) {}
    operator T() const { return tensor_.GetValue(index_, where_); }
    // Class types such as half also convert to float in one step.
    template <class U, std::enable_if_t<!std::is_arithmetic_v<T> && std::is_same_v<U, float>, int> = 0>
    operator U() const {
        return this->operator T();
    }
    const GlobalElement& operator=(T value) const {
        GlobalTensor<T>(tensor_).SetValue(index_, value, where_);
        return *this;
    }
    const GlobalElement& operator=(const GlobalElement& other) const { return *this = other.operator T(); }

private:
    const GlobalTensor<T>& tensor_;
    uint64_t index_;
    sim::Where where_;
};

template <class T>
class GlobalTensor {
public:
    using PrimType = T;

    GlobalTensor() = default;

    void SetGlobalBuffer(__gm__ T* buffer, uint64_t elements) {
        address_ = reinterpret_cast<uint64_t>(buffer);
        size_ = elements;
    }
    void SetGlobalBuffer(__gm__ T* buffer) { SetGlobalBuffer(buffer, 0); }

    T GetValue(uint64_t index, sim::Where where = sim::Where::here()) const {
        const uint64_t address = address_ + sim_bytes<T>(index);
        if constexpr (std::is_same_v<T, int4b_t>) {
            uint8_t byte = 0;
            sim::Core::current().scalar_gm_read(address, 1, &byte, where);
            return int4b_t(byte >> (4 * (index % 2)));
        } else {
            T value{};
            sim::Core::current().scalar_gm_read(address, sizeof(T), &value, where);
            return value;
        }
    }

    void SetValue(uint64_t index, T value, sim::Where where = sim::Where::here()) {
        static_assert(!std::is_same_v<T, int4b_t>,
                      "SetValue on GM writes whole bytes: view the tensor as uint8_t");
        sim::Core::current().scalar_gm_write(address_ + index * sizeof(T), sizeof(T), &value, where);
    }

    GlobalElement<T> operator()(uint64_t index, sim::Where where = sim::Where::here()) const {
        return GlobalElement<T>(*this, index, where);
    }

    // The same memory from element `offset` on.
    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor rest = *this;
        rest.address_ += sim_bytes<T>(offset);
        rest.size_ = offset < size_ ? size_ - offset : 0;
        return rest;
    }

    const __gm__ T* GetPhyAddr() const { return reinterpret_cast<const T*>(address_); }
    __gm__ T* GetPhyAddr(uint64_t offset) const {
        return reinterpret_cast<T*>(address_ + sim_bytes<T>(offset));
    }
    uint64_t GetSize() const { return size_; }
    void SetShapeInfo(const ShapeInfo& info) { shape_info_ = info; }
    ShapeInfo GetShapeInfo() const { return shape_info_; }

    // Changes no value: CACHE_MODE_DISABLE makes DMAs pass the L2, as the cost model knows.
    template <CacheRwMode mode = CacheRwMode::RW>
    void SetL2CacheHint(CacheMode hint) {
        cache_mode_ = hint;
    }

    uint64_t sim_address() const { return address_; }
    bool sim_past_l2() const { return cache_mode_ == CacheMode::CACHE_MODE_DISABLE; }

private:
    uint64_t address_ = 0;
    uint64_t size_ = 0;
    CacheMode cache_mode_ = CacheMode::CACHE_MODE_NORMAL;
    ShapeInfo shape_info_;
};

}  // namespace AscendC
