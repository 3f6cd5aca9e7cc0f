// SPDX-License-Identifier: Apache-2.0
// int4_pack.h - how eight int4 values stand in one int32 word: element i in bits 4i .. 4i+3 (low nibble
// first), two's complement.
#pragma once
#include <cstdint>

#include "sals/portability.h"

namespace sals {

inline constexpr int32_t INT4_PER_WORD = 8;
inline constexpr int32_t INT4_MIN = -8;
inline constexpr int32_t INT4_MAX = 7;

SALS_HD int32_t int4_get(int32_t word, int32_t i) {
    const uint32_t nibble = (static_cast<uint32_t>(word) >> (4 * i)) & 0xFU;
    return static_cast<int32_t>(nibble ^ 8U) - 8;
}

// `word` with element i replaced by value, which must lie in [INT4_MIN, INT4_MAX].
SALS_HD int32_t int4_set(int32_t word, int32_t i, int32_t value) {
    const uint32_t keep = static_cast<uint32_t>(word) & ~(0xFU << (4 * i));
    return static_cast<int32_t>(keep | ((static_cast<uint32_t>(value) & 0xFU) << (4 * i)));
}

}  // namespace sals
