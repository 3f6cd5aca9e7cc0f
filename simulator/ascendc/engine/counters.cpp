// SPDX-License-Identifier: Apache-2.0
// counters.cpp - adds up what the schedulers report.
#include "engine/counters.h"

#include "engine/sim_core.h"

namespace sals::sim {

void Counters::executed(const SimCore& core, Pipe pipe, const Item& item, double begin, double end) {
    if (item.kind != Item::Kind::INSTRUCTION) return;
    const char* name = item.instruction.name;
    PipeCounters& counters = cores_[core.index()].pipe[static_cast<int>(pipe)];
    counters.busy += end - begin;
    ++counters.instructions;
    InstructionCount& count = instructions_[name];
    ++count.count;
    count.cycles += end - begin;
    if (trace_) events_.push_back({core.index(), pipe, name, begin, end, item.where});
}

void Counters::waited(const SimCore& core, Pipe pipe, double cycles) {
    cores_[core.index()].pipe[static_cast<int>(pipe)].wait += cycles;
}

void Counters::fill(LaunchResult& result, const std::vector<std::string>& names) const {
    result.cores = cores_;
    for (size_t i = 0; i < names.size(); ++i) result.cores[i].name = names[i];
    for (const auto& [name, count] : instructions_) {
        result.instructions.push_back(count);
        result.instructions.back().name = name;
    }
    result.trace = events_;
}

}  // namespace sals::sim
