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
static constexpr int READS_BETWEEN_TURNS = 1000;  // of one place, until others may run

// A set of bytes of a cache line, one bit each.
static uint64_t byte_set(uint64_t first, uint32_t bytes) {
    return (bytes >= CACHE_LINE_BYTES ? ~0ULL : (1ULL << bytes) - 1) << first;
}

uint32_t SimCore::next_scalar_index(const char* instruction, Where where) {
    PipeState& scalar = pipe(Pipe::S);
    records_[static_cast<int>(Pipe::S)].push_back({instruction, where});
    scalar.clock.complete[static_cast<int>(Pipe::S)] = ++scalar.dispatched;
    return scalar.dispatched;
}

// A loop that does nothing but read one place waits for a value that only others can bring.
void SimCore::count_read(uint64_t address, Where where) {
    reads_in_a_row_ = address == last_read_ ? reads_in_a_row_ + 1 : 0;
    last_read_ = address;
    if (reads_in_a_row_ > MAX_POLLS) {
        report(
            Check::SYNCCHECK, where,
            "GetValue has read one place a million times in a row: it polls for a value that does not come. "
            "What other cores write is seen only after DataCacheCleanAndInvalid, what other pipes write "
            "after a flag.");
        wait_until([] { return false; }, "a value that GetValue polls", where);
    }
    if (reads_in_a_row_ % READS_BETWEEN_TURNS == READS_BETWEEN_TURNS - 1) {
        chip_.scheduler().let_others_run(*this);
    }
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
    if (!check_alignment(item.instruction.name, begin, bytes, where)) return false;
    scalar_works(scalar_access_cycles(mem));
    item.where = where;
    item.index = next_scalar_index(item.instruction.name, where);
    const Access& access = item.instruction.accesses[0];
    check_access(access, item, Pipe::S);
    define(access, item);
    if (write) {
        reads_in_a_row_ = 0;
    } else {
        count_read(begin, where);
    }
    return true;
}

// The line of `address`, fetched if it is not there.
DataCache::Line& SimCore::cached_line(uint64_t address, Where where) {
    if (DataCache::Line* line = cache_.find(address)) {
        scalar_time_ = std::max(scalar_time_, line->ready);
        scalar_works(scalar_gm_hit_cycles());
        return *line;
    }
    scalar_works(scalar_gm_miss_cycles());
    return fetch_line(address, where);
}

void SimCore::preload(uint64_t address, Where where) {
    scalar_works(scalar_gm_hit_cycles());
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
    line.fetched = clock(Pipe::S);
    return line;
}

// f(first, bytes) for the runs of a set of bytes of a line.
template <class F>
static void for_runs(uint64_t set, F&& f) {
    while (set != 0) {
        const uint32_t first = static_cast<uint32_t>(__builtin_ctzll(set));
        const uint64_t from_first = set >> first;
        const uint32_t bytes =
            from_first == ~0ULL ? CACHE_LINE_BYTES : static_cast<uint32_t>(__builtin_ctzll(~from_first));
        f(first, bytes);
        set &= ~byte_set(first, bytes);
    }
}

// f(address, bytes) for the parts of an element in lines of the cache: structs may cross from one to the
// next.
template <class F>
static void for_lines(uint64_t address, uint32_t bytes, F&& f) {
    for (const uint64_t end = address + bytes; address < end;) {
        const uint64_t next = std::min(end, (address / CACHE_LINE_BYTES + 1) * CACHE_LINE_BYTES);
        f(address, static_cast<uint32_t>(next - address));
        address = next;
    }
}

bool SimCore::check_alignment(const char* instruction, uint64_t address, uint32_t bytes, Where where) {
    const uint32_t unit =
        std::min<uint32_t>(8, bytes & (~bytes + 1));  // of a struct: its largest power of two
    if (address % unit == 0) return true;
    report(Check::MEMCHECK, where,
           std::string(instruction) + " of " + std::to_string(bytes) +
               " bytes at an address that is not a multiple of " + std::to_string(unit) +
               ": the scalar unit loads and stores aligned. Check the offset.");
    return false;
}

// Whether the bytes may have been written after the line was fetched; `ordered`: by a write that is known to
// be complete now (others are races, and reported as such).
bool SimCore::written_since_fetch(const DataCache::Line& line, Region& region, const Span& bytes,
                                  bool ordered) {
    return region.any_writer(bytes, [&](const GmParty& writer) {
        if (writer.thread == thread_of(Pipe::S) || knows(line.fetched, writer)) return false;
        return !ordered || knows(clock(Pipe::S), writer);
    });
}

void SimCore::scalar_gm_read(uint64_t address, uint32_t bytes, void* value, Where where) {
    std::memset(value, 0, bytes);
    Item item;
    item.where = where;
    item.instruction.name = "GetValue";
    item.instruction.where = where;
    item.instruction.accesses = {{Mem::GM, Use::READ, Span::run(address, bytes)}};
    if (!check_bounds(item.instruction) || !check_alignment("GetValue", address, bytes, where)) return;
    Region& region = *chip_.gm().find(address, address + bytes);
    if (!region.is_input()) item.index = next_scalar_index("GetValue", where);
    auto* out = static_cast<uint8_t*>(value);
    for_lines(address, bytes, [&](uint64_t at, uint32_t part) {
        const DataCache::Line& line = cached_line(at, where);
        if (!region.is_input()) check_cached(line, region, Span::run(at, part), item);
        std::memcpy(out, &line.data[at % CACHE_LINE_BYTES], part);
        out += part;
    });
    count_read(address, where);
}

// A read of one line: races, undefined and outdated bytes. What this core wrote itself is up to date.
void SimCore::check_cached(const DataCache::Line& line, Region& region, const Span& bytes, const Item& item) {
    const uint64_t base = bytes.begin - bytes.begin % CACHE_LINE_BYTES;
    bool outdated = false;
    for_runs(byte_set(bytes.begin - base, bytes.bytes) & ~line.dirty, [&](uint32_t first, uint32_t count) {
        const Access access{Mem::GM, Use::READ, Span::run(base + first, count)};
        check_access(access, item, Pipe::S);
        const void* now = reinterpret_cast<const void*>(base + first);
        outdated |= std::memcmp(now, &line.data[first], count) != 0 ||
                    written_since_fetch(line, region, access.span, true);
    });
    if (!outdated) return;
    report(Check::RACECHECK, item.where,
           "GetValue reads " + region.given().name +
               " from a cached line that has been written since. Call DataCacheCleanAndInvalid first.");
}

void SimCore::scalar_gm_write(uint64_t address, uint32_t bytes, const void* value, Where where) {
    Instruction instruction;
    instruction.name = "SetValue";
    instruction.where = where;
    instruction.accesses = {{Mem::GM, Use::WRITE, Span::run(address, bytes)}};
    if (!check_bounds(instruction) || !check_alignment("SetValue", address, bytes, where)) return;
    reads_in_a_row_ = 0;
    const auto* in = static_cast<const uint8_t*>(value);
    for_lines(address, bytes, [&](uint64_t at, uint32_t part) {
        DataCache::Line& line = cached_line(at, where);
        const uint64_t first = at % CACHE_LINE_BYTES, set = byte_set(first, part);
        std::memcpy(&line.data[first], in, part);
        if ((set & ~line.dirty) != 0) line.writes.push_back({set & ~line.dirty, clock(Pipe::S), where});
        line.dirty |= set;
        in += part;
    });
    next_scalar_index("SetValue", where);
}

// Hardware writes whole lines back: neighbours that changed meanwhile would be overwritten with old bytes.
void SimCore::write_back(uint64_t address, Where where) {
    DataCache::Line* line = cache_.find(address);
    if (line == nullptr || line->dirty == 0) return;
    const uint64_t base = address / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    const Where last = line->writes.back().where;
    Item item;
    item.instruction.name = "SetValue";
    item.index = next_scalar_index("SetValue", where.line != 0 ? where : last);
    for (const DataCache::DirtyBytes& write : line->writes) {
        item.where = write.where;
        for_runs(write.bytes, [&](uint32_t first, uint32_t bytes) {
            const Access access{Mem::GM, Use::WRITE, Span::run(base + first, bytes)};
            check_gm(access, item, Pipe::S, write.since);
            std::memcpy(reinterpret_cast<void*>(base + first), &line->data[first], bytes);
            define(access, item);
        });
    }
    bool destroys = false;
    for_runs(line->valid & ~line->dirty, [&](uint32_t first, uint32_t bytes) {
        Region* region = chip_.gm().find(base + first, base + first + bytes);
        const void* now = reinterpret_cast<const void*>(base + first);
        destroys |= std::memcmp(now, &line->loaded[first], bytes) != 0;
        if (region == nullptr) return;  // two arguments meet here
        destroys |= written_since_fetch(*line, *region, Span::run(base + first, bytes), false);
    });
    if (destroys) {
        report(Check::RACECHECK, last,
               "the line of 64 bytes that SetValue changed holds bytes that others wrote since it was "
               "cached; writing it back destroys them. Keep such data on lines of their own.");
    }
    line->dirty = 0;
    line->writes.clear();
    line->loaded = line->data;
}

void SimCore::clean_and_invalidate(uint64_t address, bool whole, Where where) {
    for (uint64_t line : whole ? cache_.addresses() : std::vector<uint64_t>{address}) {
        write_back(line, where);
        cache_.drop(line);
    }
    scalar_works(scalar_gm_miss_cycles());
    if (++polls_ > MAX_POLLS) {
        report(Check::SYNCCHECK, where,
               "this core has invalidated its cache a million times: it polls GM for something that does not "
               "come");
        wait_until([] { return false; }, "a value in GM", where);
    }
    chip_.scheduler().let_others_run(*this);
}

}  // namespace sals::sim
