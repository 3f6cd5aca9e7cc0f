// SPDX-License-Identifier: Apache-2.0
// transfer.h - what GM traffic costs: which bytes come from HBM and which from the L2, and how the cores share both.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/instruction.h"

namespace sals::sim {

// One instruction's GM traffic.
struct Transfer {
    double hbm_bytes = 0;   // missed in the L2; whole 512-byte lines are not counted, only sectors fetched
    double l2_bytes = 0;    // all bytes, through the L2
    double hbm_rate = 0;    // bytes per cycle this core can take of either
    double l2_rate = 0;
    bool write = false;
};

// Which lines are in the L2. Contents survive between instructions of all cores.
class L2Cache {
public:
    explicit L2Cache(uint64_t capacity_bytes);
    ~L2Cache();
    // Traffic of an instruction with GM accesses; looks every line up and brings it in.
    Transfer access(const Instruction& instruction, CoreKind kind);

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
