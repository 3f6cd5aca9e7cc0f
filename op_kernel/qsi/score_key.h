// SPDX-License-Identifier: Apache-2.0
// score_key.h - back from an order key (selection.h) to the score it stands for, and the range of keys that
// scores have. Between two scores the keys count those that a float can hold, so halving ends.
#pragma once
#include "common/device.h"
#include "sals/selection.h"

namespace sals::qsi {

inline constexpr uint32_t SIGN_BIT = 0x80000000U;
inline constexpr uint32_t INFINITE_BITS = 0x7F800000U;
inline constexpr uint32_t LOWEST_KEY = ~(INFINITE_BITS | SIGN_BIT);  // -inf
inline constexpr uint32_t HIGHEST_KEY = INFINITE_BITS | SIGN_BIT;    // +inf

SALS_DEVICE float score_of_key(uint32_t key) {
    const uint32_t bits = (key & SIGN_BIT) != 0 ? key & ~SIGN_BIT : ~key;
    float score = 0.0F;
    __builtin_memcpy(&score, &bits, sizeof(score));
    return score;
}

}  // namespace sals::qsi
