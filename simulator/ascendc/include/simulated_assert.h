// SPDX-License-Identifier: Apache-2.0
// simulated_assert.h - SALS_ASSERT of our kernels, which a release build leaves out, as a finding. The build
// of kernels for the simulator includes it first.
#pragma once
#include <string>

#include "engine/core.h"

namespace sals::sim {

inline void require(bool condition, const char* text, Where where = Where::here()) {
    if (!condition) {
        Core::current().report(Check::MEMCHECK, where, std::string("a kernel assertion failed: ") + text);
    }
}

}  // namespace sals::sim

#define SALS_ASSERT(condition, text) ::sals::sim::require((condition), (text))
