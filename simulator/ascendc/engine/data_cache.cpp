// SPDX-License-Identifier: Apache-2.0
// data_cache.cpp - replacement: the line that was used least recently.
#include "engine/data_cache.h"

#include <algorithm>

namespace sals::sim {

uint64_t DataCache::victim() const {
    if (lines_.size() < capacity_) return 0;
    const auto oldest = std::min_element(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) {
        return a.second.used < b.second.used;
    });
    return oldest->first * CACHE_LINE_BYTES;
}

std::vector<uint64_t> DataCache::addresses() const {
    std::vector<uint64_t> all;
    for (const auto& [line, unused] : lines_) all.push_back(line * CACHE_LINE_BYTES);
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace sals::sim
