// SPDX-License-Identifier: Apache-2.0
// scalar.cpp - the scalar unit's own accesses: on-chip memories directly, GM through the data cache.
#include <algorithm>
#include <cstring>

#include "engine/chip.h"
#include "engine/cost.h"
#include "engine/scheduler.h"
#include "engine/sim_core.h"

namespace sals::sim {

static constexpr int MAX_POLLS = 1000000;

uint32_t SimCore::next_scalar_index(const char* instruction, Where where) {
    PipeState& scalar = pipe(Pipe::S);
    records_[static_cast<int>(Pipe::S)].push_back({instruction, where});
    scalar.clock.complete[static_cast<int>(Pipe::S)] = ++scalar.dispatched;
    return scalar.dispatched;
}

bool SimCore::scalar_access(Mem mem, uint64_t begin, uint32_t bytes, bool write, Where where) {
    if (chip_.options().auto_sync && kind_ == CoreKind::AIV) {
        for (Pipe p : {Pipe::V, Pipe::MTE2, Pipe::MTE3}) drain(p, where);
    }
    Item item;
    item.instruction.name = write ? "SetValue" : "GetValue";
    item.instruction.pipe = Pipe::S;
    item.instruction.where = where;
    item.instruction.accesses = {{mem, write ? Use::WRITE : Use::READ, Span::run(begin, bytes)}};
    if (!check_bounds(item.instruction)) return false;
    scalar_time_ += scalar_access_cycles(mem);
    item.where = where;
    item.index = next_scalar_index(item.instruction.name, where);
    const Access& access = item.instruction.accesses[0];
    check_access(access, item, Pipe::S);
    define(access, item);
    return true;
}

// The line of `address`, fetched if it is not there. Null: the address is in no region (reported).
DataCache::Line* SimCore::cached_line(uint64_t address, Where where) {
    if (DataCache::Line* line = cache_.find(address)) {
        scalar_time_ = std::max(scalar_time_, line->ready) + scalar_gm_hit_cycles();
        return line;
    }
    scalar_time_ += scalar_gm_miss_cycles();
    return &fetch_line(address, where);
}

void SimCore::preload(uint64_t address, Where where) {
    scalar_time_ += scalar_gm_hit_cycles();
    if (cache_.find(address) != nullptr) return;
    fetch_line(address, where).ready = scalar_time_ + scalar_gm_miss_cycles();
}

DataCache::Line& SimCore::fetch_line(uint64_t address, Where where) {
    if (const uint64_t victim = cache_.victim(); victim != 0) {
        write_back(victim, where);
        cache_.drop(victim);
    }
    DataCache::Line& line = cache_.insert(address);
    const uint64_t base = address / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    for (uint64_t i = 0; i < CACHE_LINE_BYTES; ++i) {
        if (chip_.gm().find(base + i, base + i + 1) == nullptr) continue;
        line.valid |= 1ULL << i;
        line.data[i] = *reinterpret_cast<const uint8_t*>(base + i);
    }
    if (Region* region = chip_.gm().find(address, address + 1)) {
        const uint64_t begin = std::max(base, region->begin());
        const uint64_t end = std::min(base + CACHE_LINE_BYTES, region->end());
        region->read_bytes += static_cast<double>(end - begin);
        chip_.scheduler().scalar_fetch(begin, static_cast<uint32_t>(end - begin));
    }
    line.loaded = line.data;
    return line;
}

void SimCore::scalar_gm_read(uint64_t address, uint32_t bytes, void* value, Where where) {
    std::memset(value, 0, bytes);
    Region* region = chip_.gm().find(address, address + bytes);
    Item item;
    item.where = where;
    item.instruction.name = "GetValue";
    item.instruction.where = where;
    item.instruction.accesses = {{Mem::GM, Use::READ, Span::run(address, bytes)}};
    if (region == nullptr) {
        check_bounds(item.instruction);
        return;
    }
    DataCache::Line* line = cached_line(address, where);
    const uint64_t at = address % CACHE_LINE_BYTES;
    if (!region->is_input()) {
        item.index = next_scalar_index("GetValue", where);
        check_access(item.instruction.accesses[0], item, Pipe::S);
        const uint64_t mask = (bytes >= 64 ? ~0ULL : (1ULL << bytes) - 1) << at;
        const void* now = reinterpret_cast<const void*>(address);
        if ((line->dirty & mask) == 0 && std::memcmp(now, &line->data[at], bytes) != 0) {
            report(
                Check::RACECHECK, where,
                "GetValue reads " + region->given().name +
                    " from a cached line that has been written since. Call DataCacheCleanAndInvalid first.");
        }
    }
    std::memcpy(value, &line->data[at], bytes);
}

void SimCore::scalar_gm_write(uint64_t address, uint32_t bytes, const void* value, Where where) {
    Instruction instruction;
    instruction.name = "SetValue";
    instruction.where = where;
    instruction.accesses = {{Mem::GM, Use::WRITE, Span::run(address, bytes)}};
    if (!check_bounds(instruction)) return;
    DataCache::Line* line = cached_line(address, where);
    const uint64_t at = address % CACHE_LINE_BYTES;
    std::memcpy(&line->data[at], value, bytes);
    line->dirty |= ((1ULL << bytes) - 1) << at;
    line->where = where;
    next_scalar_index("SetValue", where);
}

// Hardware writes whole lines back: neighbours that changed meanwhile would be overwritten with old bytes.
void SimCore::write_back(uint64_t address, Where where) {
    DataCache::Line* line = cache_.find(address);
    if (line == nullptr || line->dirty == 0) return;
    const uint64_t base = address / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    Item item;
    item.where = line->where;
    item.instruction.name = "SetValue";
    item.index = next_scalar_index("SetValue", where.line != 0 ? where : line->where);
    for (uint64_t i = 0; i < CACHE_LINE_BYTES; ++i) {
        auto* byte = reinterpret_cast<uint8_t*>(base + i);
        if ((line->dirty >> i & 1) != 0) {
            const Access access{Mem::GM, Use::WRITE, Span::run(base + i, 1)};
            check_access(access, item, Pipe::S);
            *byte = line->data[i];
            define(access, item);
        } else if ((line->valid >> i & 1) != 0 && *byte != line->loaded[i]) {
            report(Check::RACECHECK, line->where,
                   "the line of 64 bytes that SetValue changed holds bytes that others wrote since it was "
                   "cached; writing it back destroys them. Keep such data on lines of their own.");
            break;
        }
    }
    line->dirty = 0;
    line->loaded = line->data;
}

void SimCore::clean_and_invalidate(uint64_t address, bool whole, Where where) {
    for (uint64_t line : whole ? cache_.addresses() : std::vector<uint64_t>{address}) {
        write_back(line, where);
        cache_.drop(line);
    }
    scalar_time_ += scalar_gm_miss_cycles();
    if (++polls_ > MAX_POLLS) {
        report(Check::SYNCCHECK, where,
               "this core has invalidated its cache a million times: it polls GM for something that does not "
               "come");
        wait_until([] { return false; }, "a value in GM", where);
    }
    chip_.scheduler().let_others_run(*this);
}

}  // namespace sals::sim
