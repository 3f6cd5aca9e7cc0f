// SPDX-License-Identifier: Apache-2.0
// line_queues.h - transfers in flight that touch the same lines: the memory serves them one after another.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sals::sim {

class LineQueues {
public:
    void enter(int transfer, std::vector<uint64_t> lines);  // each line once
    void leave(int transfer);

    // Transfers in flight that touch a line of this one, itself included; mean over its lines.
    double length(int transfer) const;

private:
    struct Entry {
        std::vector<uint64_t> lines;
        uint64_t touching = 0;  // sum of the queues' lengths
    };
    std::unordered_map<int, Entry> entries_;
    std::unordered_map<uint64_t, std::vector<int>> queues_;  // by line
};

}  // namespace sals::sim
