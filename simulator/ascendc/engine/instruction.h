// SPDX-License-Identifier: Apache-2.0
// instruction.h - one instruction as the engine sees it: where it runs, what it touches, what it costs, and
// the function that has its effect on the data.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/span.h"
#include "engine/types.h"

namespace sals::sim {

// How an instruction uses bytes. Moving undefined bytes is legal, computing with them is a finding.
enum class Use : uint8_t {
    READ,       // values matter: undefined bytes are reported (initcheck)
    READ_MOVE,  // bytes are carried along; `run` carries the taint
    WRITE,      // bytes are defined afterwards
    WRITE_MOVE  // `run` writes bytes and taint
};

struct Access {
    Mem mem;
    Use use;
    Span span;
    bool past_l2 = false;  // GM with CACHE_MODE_DISABLE: the L2 keeps no copy
    bool writes() const { return use == Use::WRITE || use == Use::WRITE_MOVE; }
};

// What the cost model needs beyond the accesses. Fields that an instruction has no use for stay 0.
struct Work {
    uint64_t elements = 0;   // vector: lanes processed, masked ones included (repeats * lanes of a repeat)
    uint32_t repeats = 0;    // vector: repeats; LoadData: fractals
    uint8_t elem_bytes = 4;  // vector: the wider operand; cube: 0 means int4
    uint32_t m = 0, n = 0, k = 0;  // cube
    uint32_t rows = 0;             // ND2NZ: rows converted, each at its own cost
    bool bias = false;
};

struct Instruction {
    Pipe pipe = Pipe::V;
    const char* name = "";  // the Ascend C name, key of the cost table ("Add", "DataCopy", "Mmad", ...)
    Where where;
    std::vector<Access> accesses;
    Work work;
    uint8_t unit_flag = 0;      // Mmad, Fixpipe: 2 goes on with the L0C tile, 3 hands it over; 0: not used
    bool atomic = false;        // writes GM by read-modify-write
    std::function<void()> run;  // moves the data; called once, when the instruction is executed
};

}  // namespace sals::sim
