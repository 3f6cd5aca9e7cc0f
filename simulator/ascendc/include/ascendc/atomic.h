// SPDX-License-Identifier: Apache-2.0
// atomic.h - whether the moves to GM that follow overwrite (none) or combine with what is there:
// SetAtomicAdd, SetAtomicMax, SetAtomicMin, SetAtomicType, SetAtomicNone, DisableDmaAtomic.
#pragma once
#include <type_traits>

#include "ascendc/atomic_mode.h"
#include "ascendc/macros.h"
#include "ascendc/types.h"

namespace AscendC {

namespace internal {

template <class T>
constexpr AtomicType atomic_type_of() {
    if constexpr (std::is_same_v<T, float>) {
        return AtomicType::FLOAT;
    } else if constexpr (std::is_same_v<T, half>) {
        return AtomicType::HALF;
    } else if constexpr (std::is_same_v<T, bfloat16_t>) {
        return AtomicType::BFLOAT16;
    } else if constexpr (std::is_same_v<T, int32_t>) {
        return AtomicType::INT32;
    } else if constexpr (std::is_same_v<T, int16_t>) {
        return AtomicType::INT16;
    } else {
        static_assert(std::is_same_v<T, int8_t>,
                      "atomic moves support float, half, bfloat16_t, int32_t, int16_t and int8_t");
        return AtomicType::INT8;
    }
}

template <class T>
inline constexpr bool is_atomic_type =
    std::is_same_v<T, float> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> ||
    std::is_same_v<T, int32_t> || std::is_same_v<T, int16_t> || std::is_same_v<T, int8_t>;

template <class T>
void set_atomic(AtomicOp op) {
    sim::Registers& registers = sim::Core::current().registers();
    registers.atomic_op = static_cast<int>(op);
    registers.atomic_type = static_cast<int>(atomic_type_of<T>());
}

}  // namespace internal

template <class T>
__aicore__ inline void SetAtomicAdd() {
    internal::set_atomic<T>(internal::AtomicOp::ADD);
}

template <class T>
__aicore__ inline void SetAtomicMax() {
    internal::set_atomic<T>(internal::AtomicOp::MAX);
}

template <class T>
__aicore__ inline void SetAtomicMin() {
    internal::set_atomic<T>(internal::AtomicOp::MIN);
}

template <class T>
__aicore__ inline void SetAtomicType() {
    sim::Core::current().registers().atomic_type = static_cast<int>(internal::atomic_type_of<T>());
}

__aicore__ inline void DisableDmaAtomic() {
    sim::Core::current().registers().atomic_op = static_cast<int>(internal::AtomicOp::NONE);
}

__aicore__ inline void SetAtomicNone() { DisableDmaAtomic(); }

}  // namespace AscendC
