// SPDX-License-Identifier: Apache-2.0
// coverage.h - the integer rule of coverage mode: from the masses of candidates to how many are kept.
#pragma once
#include <cstdint>

#include "sals/selection.h"

namespace sals {

// The least mass that need not be kept: mass < limit is mass * COVERAGE_ONE < coverage_q * total, without
// forming those products, which may exceed 64 bits.
SALS_HD int64_t coverage_limit(int64_t total, int64_t coverage_q) {
    return coverage_q * (total / COVERAGE_ONE) +
           ceil_div<int64_t>(coverage_q * (total % COVERAGE_ONE), int64_t{COVERAGE_ONE});
}

// Kept of `ties` candidates with equal score and mass, `before` being the mass of all better ones.
SALS_HD int64_t covered_ties(int64_t ties, int64_t mass, int64_t before, int64_t limit) {
    if (before >= limit) return 0;
    return mass == 0 ? ties : smaller(ties, ceil_div(limit - before, mass));
}

}  // namespace sals
