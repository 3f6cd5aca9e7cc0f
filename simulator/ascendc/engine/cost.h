// SPDX-License-Identifier: Apache-2.0
// cost.h - modelled cycles of one instruction on its pipe. All numbers live in cost_table.h, each with its
// source.
#pragma once
#include "engine/instruction.h"

namespace sals::sim {

// A pipe is busy for setup + max(payload, time of the GM traffic); the traffic starts after the set-up.
struct Timing {
    double setup = 0;    // start-up of a vector instruction, issue of a DMA
    double payload = 0;  // what the pipe needs itself
    double latency = 0;  // from the moment the pipe can take the next instruction until the result is there
};

// Throws std::logic_error for an instruction that cost_table.h does not know: nothing is free by accident.
Timing timing_of(const Instruction& instruction);

// Scalar unit, cycles.
double scalar_access_cycles(Mem mem);  // GetValue, SetValue on chip
double scalar_gm_hit_cycles();         // in the data cache
double scalar_gm_miss_cycles();
double dispatch_cycles();    // to hand one instruction to a pipe
double sync_cycles();        // SetFlag, WaitFlag, PipeBarrier on their pipe
double cross_core_cycles();  // from CrossCoreSetFlag until the other core sees it
double sync_all_cycles();
double launch_cycles();  // start and end of a kernel on a core

}  // namespace sals::sim
