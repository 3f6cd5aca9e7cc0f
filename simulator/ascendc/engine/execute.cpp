// SPDX-License-Identifier: Apache-2.0
// execute.cpp - a pipe executes the item at the head of its queue: order, races, undefined bytes, effect.
#include <algorithm>
#include <cstring>

#include "engine/chip.h"
#include "engine/cost.h"
#include "engine/scheduler.h"
#include "engine/sim_core.h"

namespace sals::sim {

bool SimCore::head_ready(Pipe p) {
    PipeState& state = pipe(p);
    if (state.queue.empty() || state.in_transfer) return false;
    const Item& head = state.queue.front();
    if (head.kind == Item::Kind::WAIT_FLAG) return flag(head.other, p, head.id).set;
    if (head.kind == Item::Kind::INSTRUCTION && head.instruction.unit_flag != 0) {
        return unit_ready(head.instruction);
    }
    return true;
}

double SimCore::head_time(Pipe p) {
    const PipeState& state = pipe(p);
    const Item& head = state.queue.front();
    const double time = std::max(state.free_at, head.dispatched);
    switch (head.kind) {
        case Item::Kind::INSTRUCTION:
            return time;
        case Item::Kind::WAIT_FLAG:
            return std::max(time, flag(head.other, p, head.id).time);
        case Item::Kind::BARRIER:
            return std::max(time, state.done_at);
        default:
            return time;
    }
}

Item SimCore::execute_head(Pipe p) {
    PipeState& state = pipe(p);
    Item item = std::move(state.queue.front());
    state.queue.pop_front();
    ++state.executed;
    state.clock.join(item.scalar);
    Clock known = state.clock;  // of a flag set here: everything before it is complete
    known.complete[static_cast<int>(p)] = item.index;
    switch (item.kind) {
        case Item::Kind::WAIT_FLAG:
            lower_flag(item.other, p, item.id, item.index, state.clock, item.where);
            break;
        case Item::Kind::SET_FLAG:
            chip_.scheduler().when_complete(
                *this, p, 0,
                [this, p, dst = item.other, id = item.id, known, where = item.where](double time) {
                    raise_flag(p, dst, id, known, where, time);
                });
            break;
        case Item::Kind::BARRIER:
            state.clock = known;
            break;
        case Item::Kind::CROSS_CORE_SET:
            send(p, item.mode, item.id, known, item.where);
            break;
        case Item::Kind::INSTRUCTION:
            if (item.instruction.unit_flag != 0) unit_pass(item.instruction, item, p);
            for (const Access& access : item.instruction.accesses) check_access(access, item, p);
            item.instruction.run();
            for (const Access& access : item.instruction.accesses) define(access, item);
            break;
    }
    chip_.scheduler().wake_scalar(*this);
    return item;
}

// ---- races -----------------------------------------------------------------------------------------------

PairRule SimCore::rule_of(const Instruction& instruction, Pipe p, Mem mem) const {
    PairRule rule;
    rule.same_pipe_ordered = p == Pipe::S;
    if (p == Pipe::M && mem == Mem::L0C) {
        // Mmads on one tile follow each other closely enough only if the tile has at least ten fractals.
        const Work& w = instruction.work;
        rule.same_pipe_ordered = (w.m / 16) * (w.n / 16) >= 10;
    }
    if (chip_.options().auto_sync && kind_ == CoreKind::AIV) {
        const auto bit = [](Pipe pipe) { return static_cast<uint8_t>(1U << static_cast<int>(pipe)); };
        if (p == Pipe::V) {
            rule.same_pipe_ordered = true;
            rule.ordered_with = bit(Pipe::S);
        } else if (p == Pipe::MTE2 || p == Pipe::MTE3) {
            rule.ordered_with = bit(Pipe::S);
        } else if (p == Pipe::S) {
            rule.ordered_with = static_cast<uint8_t>(bit(Pipe::V) | bit(Pipe::MTE2) | bit(Pipe::MTE3));
        }
    }
    return rule;
}

void SimCore::check_access(const Access& access, const Item& item, Pipe p) {
    if (access.span.empty()) return;
    if (access.mem == Mem::GM) {
        check_gm(access, item, p, clock(p));
    } else if (chip_.options().race_detection) {
        check_local(access, item, p);
    }
    if (access.use == Use::READ) check_defined(access, item);
}

void SimCore::check_local(const Access& access, const Item& item, Pipe p) {
    Shadow& shadow = shadows_[static_cast<int>(access.mem)];
    const Party me{p, item.index};
    const PairRule rule = rule_of(item.instruction, p, access.mem);
    const Conflict conflict = access.writes() ? shadow.write(access.span, me, clock(p), rule)
                                              : shadow.read(access.span, me, clock(p), rule);
    if (!conflict.found) return;
    // From here on taken as ordered, so that one missing flag is not reported again by all that follows.
    Clock& mine = clock(p);
    uint32_t& known = conflict.earlier_wrote ? mine.written(conflict.earlier.pipe)
                                             : mine.complete[static_cast<int>(conflict.earlier.pipe)];
    known = std::max(known, conflict.earlier.index);
    const Record& earlier = records_[static_cast<int>(conflict.earlier.pipe)][conflict.earlier.index - 1];
    report_race(item.where, item.instruction.name, access.mem, conflict.address, access.writes(), earlier,
                name(), conflict.earlier_wrote, p, conflict.earlier.pipe, true);
}

bool SimCore::knows(const Clock& known, const GmParty& party) const {
    const int core = party.thread / NUM_PIPES, p = party.thread % NUM_PIPES;
    if (core == index_) return party.index <= known.complete[p];
    return party.index <= (*snapshots_[known.snapshot])[party.thread];
}

GmConflict SimCore::gm_access(Region& region, const Access& access, const Item& item, Pipe p,
                              const Clock& known) {
    const Span& span = access.span;
    const bool write = access.writes();
    (write ? region.write_bytes : region.read_bytes) += static_cast<double>(span.total());
    if (region.is_input() || !chip_.options().race_detection) return {};
    const GmParty me{thread_of(p), item.index};
    const auto knows_party = [&](const GmParty& party) {
        if (party.thread == me.thread && (p == Pipe::S || party.index == me.index)) return true;
        return knows(known, party);
    };
    return write ? region.write(span, me, item.instruction.atomic, knows_party)
                 : region.read(span, me, knows_party);
}

// `known`: what the pipe knows when the access may begin.
void SimCore::check_gm(const Access& access, const Item& item, Pipe p, const Clock& known) {
    Region* region = chip_.gm().find(access.span.begin, access.span.end());
    const GmConflict conflict = gm_access(*region, access, item, p, known);
    if (!conflict.found) return;
    const SimCore& other = *chip_.cores()[conflict.earlier.thread / NUM_PIPES];
    const int pipe_index = conflict.earlier.thread % NUM_PIPES;
    if (knows(clock(p), conflict.earlier)) {  // ordered before the write-back, but not before the SetValue
        const Record& between = other.records_[pipe_index][conflict.earlier.index - 1];
        chip_.report({Check::RACECHECK, name(), item.where, between.where,
                      "what SetValue wrote to byte " + std::to_string(conflict.address - region->begin()) +
                          " of " + region->given().name + " is still in the data cache when " + between.name +
                          " of " + other.name() + (conflict.earlier_wrote ? " writes" : " reads") +
                          " there. Call DataCacheCleanAndInvalid before the flag between them."});
        return;
    }
    report_race(item.where, item.instruction.name, Mem::GM, conflict.address - region->begin(),
                access.writes(), other.records_[pipe_index][conflict.earlier.index - 1],
                other.name() + ", in " + region->given().name, conflict.earlier_wrote, p,
                static_cast<Pipe>(pipe_index), &other == this);
}

void SimCore::report_race(const Where& where, const char* instruction, Mem mem, uint64_t address, bool writes,
                          const Record& earlier, const std::string& earlier_core, bool earlier_wrote, Pipe p,
                          Pipe earlier_pipe, bool same_core) {
    const char* hazard = !writes         ? "read after write"
                         : earlier_wrote ? "write after write"
                                         : "write after read";
    std::string advice;
    if (!same_core) {
        advice = "a cross-core flag or SyncAll";
    } else if (p == earlier_pipe) {
        advice = std::string("PipeBarrier<PIPE_") + name_of(p) + ">";
    } else {
        advice = std::string("SetFlag/WaitFlag<HardEvent::") + name_of(earlier_pipe) + "_" + name_of(p) + ">";
    }
    chip_.report({Check::RACECHECK, name(), where, earlier.where,
                  std::string(hazard) + " on " + name_of(mem) + " byte " + std::to_string(address) + ": " +
                      instruction + " on pipe " + name_of(p) + " is not ordered after " + earlier.name +
                      " on pipe " + name_of(earlier_pipe) + " (" + earlier_core + "). Put " + advice +
                      " between them."});
}

// ---- undefined bytes -------------------------------------------------------------------------------------

void SimCore::check_defined(const Access& access, const Item& item) {
    uint64_t first = UINT64_MAX;
    access.span.for_each([&](uint64_t begin, uint32_t bytes) {
        const uint8_t* taint =
            access.mem == Mem::GM ? gm_taint(begin, bytes) : memory(access.mem).taint.data() + begin;
        if (taint == nullptr || first != UINT64_MAX) return;
        const void* hit = std::memchr(taint, UNDEFINED, bytes);
        if (hit != nullptr) first = begin + static_cast<uint64_t>(static_cast<const uint8_t*>(hit) - taint);
    });
    if (first == UINT64_MAX) return;
    if (access.mem == Mem::GM) first -= chip_.gm().find(first, first + 1)->begin();
    report(Check::INITCHECK, item.where,
           std::string(item.instruction.name) + " computes with undefined bytes of " + name_of(access.mem) +
               ", the first at byte " + std::to_string(first) +
               ". Nothing has written them in this kernel: fill them, or mask these lanes out.");
}

void SimCore::define(const Access& access, const Item& item) {
    if (!access.writes() || access.span.empty()) return;
    bool undefined = false;
    const bool moves = access.use == Use::WRITE_MOVE;
    access.span.for_each([&](uint64_t begin, uint32_t bytes) {
        uint8_t* taint =
            access.mem == Mem::GM ? gm_taint(begin, bytes) : memory(access.mem).taint.data() + begin;
        if (taint == nullptr) return;
        if (!moves) std::memset(taint, DEFINED, bytes);
        if (moves && access.mem == Mem::GM) undefined |= std::memchr(taint, UNDEFINED, bytes) != nullptr;
    });
    if (!undefined) return;
    Region* region = chip_.gm().find(access.span.begin, access.span.end());
    if (region->given().role == GmRegion::Role::WORKSPACE) return;
    report(Check::INITCHECK, item.where,
           std::string(item.instruction.name) + " writes undefined bytes to " + region->given().name +
               ", which the user will read. Fill them, or write fewer bytes.");
}

uint8_t* SimCore::gm_taint(uint64_t address, uint64_t bytes) {
    Region* region = chip_.gm().find(address, address + bytes);
    return region == nullptr ? nullptr : region->taint(address);
}

// ---- unitFlag: every 512 bytes of L0C are handed from the cube to the FIX pipe and back -------------------

static constexpr uint8_t UNIT_HAND_OVER = 3;

template <class F>
static void for_unit_tiles(const Instruction& instruction, F&& f) {
    for (const Access& access : instruction.accesses) {
        if (access.mem != Mem::L0C) continue;
        access.span.for_each([&](uint64_t begin, uint32_t bytes) {
            for (uint64_t tile = begin / 512; tile <= (begin + bytes - 1) / 512; ++tile) f(tile);
        });
    }
}

bool SimCore::unit_ready(const Instruction& instruction) const {
    bool ready = true;
    const bool produces = instruction.pipe == Pipe::M;
    for_unit_tiles(instruction, [&](uint64_t tile) {
        const uint8_t state = unit_tiles_[tile].state;
        ready &= produces ? state != TILE_FULL : state == TILE_FULL;
    });
    return ready;
}

void SimCore::unit_pass(const Instruction& instruction, const Item& item, Pipe p) {
    const bool produces = instruction.pipe == Pipe::M;
    const bool hands_over = instruction.unit_flag == UNIT_HAND_OVER;
    Clock& mine = clock(p);
    for_unit_tiles(instruction, [&](uint64_t tile) {
        // Mmads that go on with a tile are not ordered among themselves by it.
        if (unit_tiles_[tile].state != TILE_IN_USE) mine.join(unit_tiles_[tile].clock);
    });
    Clock known = mine;
    known.complete[static_cast<int>(p)] = item.index;
    for_unit_tiles(instruction, [&](uint64_t tile) {
        UnitTile& t = unit_tiles_[tile];
        t.clock = known;
        t.where = item.where;
        if (produces) {
            t.state = hands_over ? TILE_FULL : TILE_IN_USE;
        } else if (hands_over) {
            t.state = TILE_EMPTY;
        }
    });
    chip_.scheduler().wake(*this, produces ? Pipe::FIX : Pipe::M);
}

}  // namespace sals::sim
