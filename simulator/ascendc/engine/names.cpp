// SPDX-License-Identifier: Apache-2.0
// names.cpp - how pipes and memories are called in findings, counters and traces.
#include "engine/types.h"

namespace sals::sim {

const char* name_of(Pipe pipe) {
    static constexpr const char* NAMES[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
    return NAMES[static_cast<int>(pipe)];
}

const char* name_of(Mem mem) {
    static constexpr const char* NAMES[] = {"UB", "L1", "L0A", "L0B", "L0C", "BT", "FB", "GM"};
    return NAMES[static_cast<int>(mem)];
}

}  // namespace sals::sim
