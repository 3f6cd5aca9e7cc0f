// SPDX-License-Identifier: Apache-2.0
// memory.h - one on-chip memory of one core: bytes, and for every byte whether it is undefined.
#pragma once
#include <cstdint>
#include <vector>

namespace sals::sim {

inline constexpr uint8_t POISON_BYTE = 0xCD;
inline constexpr uint8_t DEFINED = 0;
inline constexpr uint8_t UNDEFINED = 1;

struct Memory {
    std::vector<uint8_t> data;
    std::vector<uint8_t> taint;  // UNDEFINED until written

    explicit Memory(size_t bytes = 0) : data(bytes, POISON_BYTE), taint(bytes, UNDEFINED) {}
    size_t size() const { return data.size(); }
};

}  // namespace sals::sim
