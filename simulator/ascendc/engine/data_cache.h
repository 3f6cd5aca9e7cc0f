// SPDX-License-Identifier: Apache-2.0
// data_cache.h - the scalar unit's cache of GM: lines of 64 bytes that other cores' writes do not refresh and
// whose own writes reach GM only when they are cleaned.
#pragma once
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/clock.h"
#include "engine/types.h"

namespace sals::sim {

inline constexpr uint64_t CACHE_LINE_BYTES = 64;

class DataCache {
public:
    explicit DataCache(uint64_t bytes) : capacity_(bytes / CACHE_LINE_BYTES) {}

    // Bytes that are written back together: at any time from the SetValue until the line is cleaned.
    struct DirtyBytes {
        uint64_t bytes = 0;  // bit per byte of the line
        Clock since;         // what the scalar unit knew before the SetValue
        Where where;         // of the SetValue
    };
    struct Line {
        std::array<uint8_t, CACHE_LINE_BYTES> data{};    // as the core sees it
        std::array<uint8_t, CACHE_LINE_BYTES> loaded{};  // as GM was when it was fetched
        uint64_t dirty = 0;                              // bit per byte
        uint64_t valid = 0;                              // bytes that lie in a region
        uint64_t used = 0;
        double ready = 0;  // cycle at which it has arrived
        Clock fetched;     // what the scalar unit knew when it was fetched
        std::vector<DirtyBytes> writes;
    };

    Line* find(uint64_t address) {
        const auto it = lines_.find(address / CACHE_LINE_BYTES);
        if (it == lines_.end()) return nullptr;
        it->second.used = ++tick_;
        return &it->second;
    }
    // The line to drop before another can come in: its address, or 0 while there is room.
    uint64_t victim() const;
    Line& insert(uint64_t address) {
        Line& line = lines_[address / CACHE_LINE_BYTES];
        line.used = ++tick_;
        return line;
    }
    void drop(uint64_t address) { lines_.erase(address / CACHE_LINE_BYTES); }
    std::vector<uint64_t> addresses() const;

private:
    uint64_t capacity_;
    uint64_t tick_ = 0;
    std::unordered_map<uint64_t, Line> lines_;
};

}  // namespace sals::sim
