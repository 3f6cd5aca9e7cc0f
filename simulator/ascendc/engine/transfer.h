// SPDX-License-Identifier: Apache-2.0
// transfer.h - what GM traffic costs: which bytes come from HBM and which from the L2, and how the cores
// share both.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/instruction.h"

namespace sals::sim {

// One instruction's GM traffic. The bytes are what is counted, the loads what takes time.
struct Transfer {
    double hbm_bytes = 0;         // fetched from HBM: sectors that the L2 did not have
    double writeback_bytes = 0;   // written to HBM: dirty sectors that had to make room
    double l2_bytes = 0;          // asked for by the core
    double hbm_load = 0;          // bytes that occupy the HBM, the L2 and the core's port
    double hit_load = 0;          // bytes that occupy the L2 and the core's port only
    double direct_load = 0;       // of hbm_load: parts of lines that are read past the L2
    std::vector<uint64_t> lines;  // touched, each once
    double hbm_rate = 0;          // bytes per cycle of this core
    double l2_rate = 0;
    bool write = false;
};

// Which sectors are in the L2: 512-byte lines of four sectors, least recently used first out, written back.
// Contents survive between instructions of all cores; a new cache is empty.
class L2Cache {
public:
    explicit L2Cache(uint64_t capacity_bytes);
    ~L2Cache();
    // Traffic of an instruction with GM accesses; looks every line up and brings it in, unless the access
    // passes the L2.
    Transfer access(const Instruction& instruction);
    // Bytes of [begin, end) that still have to be written to HBM. Add those of outputs at the end of a
    // kernel; a workspace that stays in the L2 is overwritten there and never reaches HBM.
    double dirty_bytes(uint64_t begin, uint64_t end) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// HBM and L2 as fair-share servers over all transfers in flight; time in cycles.
class Bandwidth {
public:
    explicit Bandwidth(double clock_ghz);
    ~Bandwidth();
    int start(double now, const Transfer& transfer);  // id of the flow
    double next_completion() const;                   // +infinity: nothing in flight
    int complete_next();                              // id of the flow that ends at next_completion()

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sals::sim
