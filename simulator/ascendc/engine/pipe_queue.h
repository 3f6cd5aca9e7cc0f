// SPDX-License-Identifier: Apache-2.0
// pipe_queue.h - what the scalar unit has dispatched to a pipe and the pipe has not executed yet.
#pragma once
#include <cstdint>
#include <deque>
#include <string>

#include "engine/clock.h"
#include "engine/instruction.h"

namespace sals::sim {

// The documentation gives 32 entries for MTE1 and M; assumed for the other pipes.
inline constexpr size_t QUEUE_ENTRIES = 32;

struct Item {
    enum class Kind : uint8_t { INSTRUCTION, SET_FLAG, WAIT_FLAG, BARRIER, CROSS_CORE_SET };
    Kind kind = Kind::INSTRUCTION;
    Instruction instruction;  // INSTRUCTION
    Pipe other = Pipe::S;     // SET_FLAG: who waits; WAIT_FLAG: who set
    int id = 0;
    int mode = 0;  // CROSS_CORE_SET
    Where where;
    uint32_t index = 0;     // number of this item among those dispatched to its pipe
    Clock scalar;           // what the scalar unit knew at dispatch
    double dispatched = 0;  // cycle
};

struct PipeState {
    std::deque<Item> queue;
    Clock clock;
    uint32_t dispatched = 0;  // items so far; the next one gets dispatched + 1
    uint32_t executed = 0;
    // Modelled time.
    double free_at = 0;        // the next item can start
    double done_at = 0;        // everything executed so far is complete
    bool in_transfer = false;  // its GM traffic is still flowing
    bool scheduled = false;    // an event for its head is pending
    double waiting_since = -1;
};

}  // namespace sals::sim
