// SPDX-License-Identifier: Apache-2.0
// counters.h - what pipes executed, for how long, and when: counters and the timeline.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/launch.h"
#include "engine/pipe_queue.h"

namespace sals::sim {

class SimCore;

class Counters {
public:
    Counters(size_t cores, bool trace) : cores_(cores), trace_(trace) {}

    void executed(const SimCore& core, Pipe pipe, const Item& item, double begin, double end);
    void waited(const SimCore& core, Pipe pipe, double cycles);
    void fill(LaunchResult& result, const std::vector<std::string>& names) const;
    CoreCounters& core(size_t index) { return cores_[index]; }

private:
    std::vector<CoreCounters> cores_;
    std::map<std::string, InstructionCount> instructions_;
    std::vector<TraceEvent> events_;
    bool trace_;
};

}  // namespace sals::sim
