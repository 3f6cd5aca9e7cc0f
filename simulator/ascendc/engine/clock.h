// SPDX-License-Identifier: Apache-2.0
// clock.h - happens-before. Every pipe of every core is a thread whose instructions are numbered in the order
// of dispatch, and whose clock says how many instructions of each other thread are known to be complete.
// Instructions of one pipe start in order but complete in any order, so a pipe's clock also has an entry for
// itself. Knowledge about other cores changes only where the scalar unit waits for them: within a core these
// snapshots form one growing chain, and a clock refers to a snapshot by its place in the chain.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/types.h"

namespace sals::sim {

struct Clock {
    std::array<uint32_t, NUM_PIPES> complete{};  // of this core's pipes
    // Of the scalar unit's instructions, those whose stores are in the memories of this core: a pipe knows by
    // dispatch what the scalar unit has read, and only by a flag that it has written.
    uint32_t stored = 0;
    uint32_t snapshot = 0;  // place in the core's chain of snapshots

    uint32_t& written(Pipe p) { return p == Pipe::S ? stored : complete[static_cast<int>(p)]; }
    uint32_t written(Pipe p) const { return p == Pipe::S ? stored : complete[static_cast<int>(p)]; }
    void store_all() { stored = complete[static_cast<int>(Pipe::S)]; }

    void join(const Clock& other) {
        for (int p = 0; p < NUM_PIPES; ++p) complete[p] = std::max(complete[p], other.complete[p]);
        stored = std::max(stored, other.stored);
        snapshot = std::max(snapshot, other.snapshot);
    }
};

// What a core knows of all threads, index core * NUM_PIPES + pipe; then of every core's stored instructions.
using Snapshot = std::vector<uint32_t>;

inline void join(Snapshot& into, const Snapshot& other) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

}  // namespace sals::sim
