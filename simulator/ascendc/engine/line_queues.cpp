// SPDX-License-Identifier: Apache-2.0
#include "engine/line_queues.h"

#include <algorithm>
#include <utility>

namespace sals::sim {

void LineQueues::enter(int transfer, std::vector<uint64_t> lines) {
    Entry& entry = entries_[transfer];
    entry.lines = std::move(lines);
    for (uint64_t line : entry.lines) {
        std::vector<int>& queue = queues_[line];
        for (int other : queue) ++entries_.at(other).touching;
        queue.push_back(transfer);
        entry.touching += queue.size();
    }
}

void LineQueues::leave(int transfer) {
    for (uint64_t line : entries_.at(transfer).lines) {
        const auto queue = queues_.find(line);
        std::vector<int>& waiting = queue->second;
        waiting.erase(std::find(waiting.begin(), waiting.end(), transfer));
        for (int other : waiting) --entries_.at(other).touching;
        if (waiting.empty()) queues_.erase(queue);
    }
    entries_.erase(transfer);
}

double LineQueues::length(int transfer) const {
    const Entry& entry = entries_.at(transfer);
    return entry.lines.empty() ? 1 : static_cast<double>(entry.touching) / entry.lines.size();
}

}  // namespace sals::sim
