// SPDX-License-Identifier: Apache-2.0
// int4.h - int4b_t: two values in a byte, the even index in the low nibble. sizeof(int4b_t) is 1, as in
// Ascend C, so sizes in bytes come from sim_bytes.
#pragma once
#include <cstdint>
#include <type_traits>

namespace AscendC {

struct int4b_t {
    int8_t storage;  // one value, sign-extended

    int4b_t() = default;
    constexpr int4b_t(int value) : storage(static_cast<int8_t>(((value & 0xF) ^ 8) - 8)) {}
    constexpr operator int8_t() const { return storage; }
};

// Bytes that `count` elements of T take in memory.
template <class T>
constexpr uint64_t sim_bytes(uint64_t count) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        return count / 2;
    } else {
        return count * sizeof(T);
    }
}

// Elements of T in `bytes`.
template <class T>
constexpr uint64_t sim_elements(uint64_t bytes) {
    if constexpr (std::is_same_v<T, int4b_t>) {
        return bytes * 2;
    } else {
        return bytes / sizeof(T);
    }
}

}  // namespace AscendC
