// SPDX-License-Identifier: Apache-2.0
// l2_cache.cpp - the L2 as a fully associative set of 512-byte lines in order of use. A line holds four
// sectors of 128 bytes, which are fetched and written back one by one: the smallest request that the
// documentation knows, and the unit in which the hardware's hit counters count.
#include <algorithm>
#include <bitset>
#include <unordered_map>
#include <vector>

#include "engine/cost_table.h"
#include "engine/transfer.h"

namespace sals::sim {
namespace {

constexpr uint32_t NONE = ~0u;
constexpr uint32_t SECTORS = table::LINE_BYTES / table::SECTOR_BYTES;

using SectorSet = std::bitset<SECTORS>;

struct Line {
    uint64_t number = 0;  // address / 512
    uint32_t newer = NONE, older = NONE;
    SectorSet present, dirty;
};

// The part of a line that a piece covers.
struct Part {
    uint64_t line;
    uint32_t begin, end;  // bytes within the line

    SectorSet sectors() const {
        SectorSet set;
        for (uint32_t s = begin / table::SECTOR_BYTES; s * table::SECTOR_BYTES < end; ++s) set.set(s);
        return set;
    }
    // Starts or ends inside a sector. Such a part takes the time of a whole line (calibrated on rows that are
    // not aligned, see docs/explanation/cost-model.md).
    bool ragged() const { return begin % table::SECTOR_BYTES != 0 || end % table::SECTOR_BYTES != 0; }
    bool whole() const { return end - begin == table::LINE_BYTES; }
};

template <class F>
void for_each_part(uint64_t begin, uint64_t bytes, F&& f) {
    const uint64_t end = begin + bytes;
    for (uint64_t at = begin; at < end;) {
        const uint64_t line = at / table::LINE_BYTES, first = line * table::LINE_BYTES;
        const uint64_t stop = std::min(end, first + table::LINE_BYTES);
        f(Part{line, static_cast<uint32_t>(at - first), static_cast<uint32_t>(stop - first)});
        at = stop;
    }
}

double bytes_of(const SectorSet& sectors) {
    return static_cast<double>(sectors.count()) * table::SECTOR_BYTES;
}

double write_rate(const Instruction& instruction) {
    const auto from_ub = [](const Access& access) { return access.mem == Mem::UB && !access.writes(); };
    const bool out_of_ub = std::any_of(instruction.accesses.begin(), instruction.accesses.end(), from_ub);
    return out_of_ub ? table::UB_OUT_RATE : table::L2_WRITE_RATE;
}

}  // namespace

struct L2Cache::State {
    explicit State(uint64_t capacity_bytes)
        : capacity(std::max<uint64_t>(capacity_bytes / table::LINE_BYTES, 1)) {}

    // The line, now the newest; brought in without sectors if it was absent.
    Line& touch(uint64_t number, Transfer& transfer) {
        const auto [entry, absent] = slots.try_emplace(number, NONE);
        if (absent) {
            entry->second = free_slot(transfer);
            lines[entry->second] = Line{number, NONE, NONE, {}, {}};
            push_newest(entry->second);
        } else if (entry->second != newest) {
            unlink(entry->second);
            push_newest(entry->second);
        }
        return lines[entry->second];
    }

    void read(const Part& part, Transfer& transfer) {
        Line& line = touch(part.line, transfer);
        const SectorSet present = line.present;
        line.present |= part.sectors();
        load(part, present, transfer);
    }

    void read_past(const Part& part, Transfer& transfer) {
        const auto found = slots.find(part.line);
        const double before = transfer.hbm_load;
        load(part, found == slots.end() ? SectorSet{} : lines[found->second].present, transfer);
        if (!part.whole()) transfer.direct_load += transfer.hbm_load - before;
    }

    static void load(const Part& part, const SectorSet& present, Transfer& transfer) {
        const SectorSet wanted = part.sectors(), missing = wanted & ~present;
        transfer.hbm_bytes += bytes_of(missing);
        if (part.ragged()) {
            (missing.any() ? transfer.hbm_load : transfer.hit_load) += table::LINE_BYTES;
        } else {
            transfer.hbm_load += bytes_of(missing);
            transfer.hit_load += bytes_of(wanted & ~missing);
        }
    }

    void write(const Part& part, Transfer& transfer) {
        Line& line = touch(part.line, transfer);
        line.present |= part.sectors();
        line.dirty |= part.sectors();
        transfer.hit_load += part.ragged() ? table::LINE_BYTES : part.end - part.begin;
    }

    // What the L2 holds of the part is out of date afterwards.
    void write_past(const Part& part, Transfer& transfer) {
        const auto found = slots.find(part.line);
        if (found != slots.end()) {
            Line& line = lines[found->second];
            line.present &= ~part.sectors();
            line.dirty &= ~part.sectors();
        }
        transfer.writeback_bytes += bytes_of(part.sectors());
        transfer.hbm_load += part.ragged() ? table::LINE_BYTES : part.end - part.begin;
    }

    void move(const Access& access, const Part& part, Transfer& transfer) {
        if (access.writes()) {
            access.past_l2 ? write_past(part, transfer) : write(part, transfer);
        } else {
            access.past_l2 ? read_past(part, transfer) : read(part, transfer);
        }
    }

    uint32_t free_slot(Transfer& transfer) {
        if (lines.size() < capacity) {
            lines.emplace_back();
            return static_cast<uint32_t>(lines.size() - 1);
        }
        const uint32_t victim = oldest;
        const double dirty = bytes_of(lines[victim].dirty);
        transfer.writeback_bytes += dirty;
        transfer.hbm_load += dirty;
        unlink(victim);
        slots.erase(lines[victim].number);
        return victim;
    }

    void unlink(uint32_t slot) {
        Line& line = lines[slot];
        (line.newer == NONE ? newest : lines[line.newer].older) = line.older;
        (line.older == NONE ? oldest : lines[line.older].newer) = line.newer;
    }

    void push_newest(uint32_t slot) {
        lines[slot].newer = NONE;
        lines[slot].older = newest;
        (newest == NONE ? oldest : lines[newest].newer) = slot;
        newest = slot;
    }

    uint64_t capacity;  // lines
    std::vector<Line> lines;
    std::unordered_map<uint64_t, uint32_t> slots;  // by line number
    uint32_t newest = NONE, oldest = NONE;
};

L2Cache::L2Cache(uint64_t capacity_bytes) : state_(std::make_unique<State>(capacity_bytes)) {}
L2Cache::~L2Cache() = default;

Transfer L2Cache::access(const Instruction& instruction) {
    Transfer transfer;
    transfer.hbm_rate = table::HBM_READ_RATE;
    transfer.l2_rate = table::L2_READ_RATE;
    for (const Access& access : instruction.accesses) {
        if (access.mem != Mem::GM || access.span.empty()) continue;
        if (access.writes()) {
            transfer.write = true;
            transfer.l2_rate = write_rate(instruction);
        }
        access.span.for_each([&](uint64_t begin, uint32_t bytes) {
            transfer.l2_bytes += bytes;
            for_each_part(begin, bytes, [&](const Part& part) {
                state_->move(access, part, transfer);
                transfer.lines.push_back(part.line);
            });
        });
    }
    std::sort(transfer.lines.begin(), transfer.lines.end());
    transfer.lines.erase(std::unique(transfer.lines.begin(), transfer.lines.end()), transfer.lines.end());
    return transfer;
}

double L2Cache::dirty_bytes(uint64_t begin, uint64_t end) const {
    double dirty = 0;
    for_each_part(begin, end - begin, [&](const Part& part) {
        const auto found = state_->slots.find(part.line);
        if (found == state_->slots.end()) return;
        dirty += bytes_of(state_->lines[found->second].dirty & part.sectors());
    });
    return dirty;
}

}  // namespace sals::sim
