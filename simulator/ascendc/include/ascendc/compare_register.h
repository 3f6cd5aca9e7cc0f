// SPDX-License-Identifier: Apache-2.0
// compare_register.h - 128 bits of a vector core, with a note which bytes have been defined.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>

#include "engine/core.h"

namespace AscendC::internal {

namespace sim = sals::sim;

struct CompareRegister {
    static constexpr uint32_t BYTES = 16;
    std::array<uint8_t, BYTES> data{};
    std::array<uint8_t, BYTES> taint;
    CompareRegister() { taint.fill(sim::UNDEFINED); }
};

inline CompareRegister& compare_register(const sim::Core* core) {
    static thread_local std::unordered_map<const sim::Core*, CompareRegister> registers;
    return registers[core];
}

// TPipe begins with it: what an earlier kernel left is not defined in this one.
inline void forget_compare_register(const sim::Core* core) { compare_register(core) = CompareRegister(); }

}  // namespace AscendC::internal
