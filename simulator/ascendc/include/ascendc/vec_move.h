// SPDX-License-Identifier: Apache-2.0
// vec_move.h - bytes that the vector unit carries along within UB, together with their being undefined.
#pragma once
#include <cstring>

#include "engine/core.h"

namespace AscendC::internal {

class UbMove {
public:
    explicit UbMove(sals::sim::Core& core) : ub_(core.memory(sals::sim::Mem::UB)) {}

    void copy(uint64_t to, uint64_t from, uint64_t bytes) const {
        std::memmove(ub_.data.data() + to, ub_.data.data() + from, bytes);
        std::memmove(ub_.taint.data() + to, ub_.taint.data() + from, bytes);
    }

    // What the documentation calls undefined afterwards.
    void undefine(uint64_t begin, uint64_t bytes) const {
        std::memset(ub_.data.data() + begin, sals::sim::POISON_BYTE, bytes);
        std::memset(ub_.taint.data() + begin, sals::sim::UNDEFINED, bytes);
    }

    uint64_t size() const { return ub_.size(); }
    const uint8_t* bytes() const { return ub_.data.data(); }

private:
    sals::sim::Memory& ub_;
};

}  // namespace AscendC::internal
