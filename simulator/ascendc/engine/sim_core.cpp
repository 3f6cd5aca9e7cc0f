// SPDX-License-Identifier: Apache-2.0
// sim_core.cpp - the scalar unit: dispatching to the pipes, and waiting.
#include "engine/sim_core.h"

#include <cstring>

#include "engine/chip.h"
#include "engine/cost.h"
#include "engine/scheduler.h"

namespace sals::sim {

static thread_local SimCore* current_core = nullptr;  // several threads may launch at once

Core& Core::current() { return *current_core; }

SimCore::SimCore(Chip& chip, const Place& place, std::function<void()> kernel)
    : chip_(chip),
      index_(place.index),
      unit_tiles_(L0C_BYTES / 512),
      cache_(place.kind == CoreKind::AIC ? AIC_CACHE_BYTES : AIV_CACHE_BYTES),
      fiber_(std::move(kernel)) {
    kind_ = place.kind;
    block_idx_ = place.block_idx;
    block_num_ = place.block_num;
    sub_block_idx_ = place.sub_block_idx;
    const auto add = [&](Mem mem) {
        memories_[static_cast<int>(mem)] = Memory(chip.capacity(mem));
        shadows_[static_cast<int>(mem)] = Shadow(chip.capacity(mem));
    };
    if (kind_ == CoreKind::AIV) {
        add(Mem::UB);
    } else {
        for (Mem mem : {Mem::L1, Mem::L0A, Mem::L0B, Mem::L0C, Mem::BT, Mem::FB}) add(mem);
    }
    for (int& mode : cross_core_mode_) mode = -1;
    snapshots_.push_back(std::make_shared<Snapshot>(chip.snapshot_size(), 0));
    auto& random = chip.random();
    registers_.mask_counter_mode = (random() & 1) != 0;
    registers_.mask[0] = random();
    registers_.mask[1] = random();
    registers_.atomic_op = static_cast<int>(random() % 4);
    registers_.deq_scalar = random();
    registers_.pad_value = random();
    registers_.nd_num = static_cast<uint16_t>(random());
}

std::string SimCore::name() const {
    return std::string(kind_ == CoreKind::AIC ? "AIC " : "AIV ") + std::to_string(block_idx_);
}

void SimCore::report(Check check, Where where, std::string text) {
    chip_.report({check, name(), where, {}, std::move(text)});
}

void SimCore::resume(double now) {
    if (waiting_.ready) {
        waiting_ = {};
        scalar_time_ = std::max(scalar_time_, now);
    }
    SimCore* before = current_core;
    current_core = this;
    fiber_.resume();
    current_core = before;
}

void SimCore::wait_until(std::function<bool()> ready, std::string what, Where where) {
    reads_in_a_row_ = 0;
    if (ready()) return;
    waiting_ = {std::move(ready), std::move(what), where};
    fiber_.pause();
}

// ---- dispatch --------------------------------------------------------------------------------------------

Item SimCore::make_item(Item::Kind kind, Pipe p, Where where, const char* name) {
    Item item;
    item.kind = kind;
    item.where = where;
    item.index = ++pipe(p).dispatched;
    records_[static_cast<int>(p)].push_back({name, where});
    return item;
}

void SimCore::enqueue(Pipe p, Item item) {
    scalar_works(dispatch_cycles());
    PipeState& state = pipe(p);
    wait_until([&state] { return state.queue.size() < QUEUE_ENTRIES; },
               std::string("room in the queue of pipe ") + name_of(p), item.where);
    item.scalar = clock(Pipe::S);
    item.dispatched = scalar_time_;
    state.queue.push_back(std::move(item));
    chip_.scheduler().wake(*this, p);
    chip_.scheduler().between_dispatches(*this);
}

bool SimCore::check_bounds(const Instruction& instruction) {
    for (const Access& access : instruction.accesses) {
        if (access.span.empty()) continue;
        const uint64_t begin = access.span.begin, end = access.span.end();
        if (access.mem == Mem::GM) {
            Region* region = chip_.gm().find(begin, end);
            const bool writes = access.writes();
            if (region == nullptr) {
                Region* start = chip_.gm().find(begin, begin + 1);
                report(Check::MEMCHECK, instruction.where,
                       std::string(instruction.name) + (writes ? " writes " : " reads ") +
                           std::to_string(end - begin) + " bytes of GM from " +
                           (start == nullptr ? std::string("an address outside every argument")
                                             : "byte " + std::to_string(begin - start->begin()) + " of " +
                                                   start->given().name + ", which has " +
                                                   std::to_string(start->given().bytes)) +
                           ". Check the offset and the length.");
                return false;
            }
            if (writes && region->is_input()) {
                report(Check::MEMCHECK, instruction.where,
                       std::string(instruction.name) + " writes to " + region->given().name +
                           ", which is an input of the kernel");
                return false;
            }
            continue;
        }
        const uint64_t size = memory(access.mem).size();
        if (end <= size) continue;
        const char* mem = name_of(access.mem);
        report(Check::MEMCHECK, instruction.where,
               size == 0 ? std::string(instruction.name) + " uses " + mem + ", which this core does not have"
                         : std::string(instruction.name) + " touches bytes [" + std::to_string(begin) + ", " +
                               std::to_string(end) + ") of " + mem + ", which has " + std::to_string(size) +
                               " usable bytes. Check the memory plan and the strides.");
        return false;
    }
    return true;
}

void SimCore::issue(Instruction instruction) {
    const Pipe p = instruction.pipe;
    if (!check_bounds(instruction)) return;
    Item item = make_item(Item::Kind::INSTRUCTION, p, instruction.where, instruction.name);
    item.instruction = std::move(instruction);
    enqueue(p, std::move(item));
}

// ---- the end ---------------------------------------------------------------------------------------------

bool SimCore::idle() const {
    for (const PipeState& state : pipes_) {
        if (!state.queue.empty() || state.in_transfer) return false;
    }
    return true;
}

void SimCore::end_of_kernel() {
    for (uint64_t address : cache_.addresses()) write_back(address, {});
    for (int s = 0; s < NUM_PIPES; ++s) {
        for (int d = 0; d < NUM_PIPES; ++d) {
            for (int id = 0; id < NUM_EVENT_IDS; ++id) {
                const EventFlag& f = flags_[s][d][id];
                if (!f.set) continue;
                report(Check::SYNCCHECK, f.where,
                       "SetFlag " + event_name(static_cast<Pipe>(s), static_cast<Pipe>(d), id) +
                           " is never waited for: the flag stays set for the next kernel. Add the WaitFlag.");
            }
        }
    }
    for (const UnitTile& tile : unit_tiles_) {
        if (tile.state != TILE_FULL) continue;
        report(Check::SYNCCHECK, tile.where,
               "a tile of L0C that unitFlag hands over is never taken: it stays full for the next kernel. "
               "Add the Fixpipe with unitFlag 3.");
    }
    for (int id = 0; id < NUM_CROSS_CORE_IDS; ++id) {
        if (messages_[id].empty()) continue;
        report(Check::SYNCCHECK, messages_[id].front().where,
               "cross-core flag " + std::to_string(id) + " is set " + std::to_string(messages_[id].size()) +
                   " time(s) more often than " + name() +
                   " waits for it: the counter stays up for the next kernel. Add the CrossCoreWaitFlag.");
    }
}

std::string SimCore::describe_blocked() const {
    std::string text;
    const auto add = [&](Pipe p, const std::string& what, Where where) {
        text += (text.empty() ? "" : "; ") + name() + " " + name_of(p) + " waits for " + what + " at " +
                where.file + ":" + std::to_string(where.line);
    };
    if (waiting_.ready) add(Pipe::S, waiting_.what, waiting_.where);
    for (int i = 0; i < NUM_PIPES; ++i) {
        if (pipes_[i].queue.empty()) continue;
        const Pipe p = static_cast<Pipe>(i);
        const Item& head = pipes_[i].queue.front();
        add(p,
            head.kind == Item::Kind::WAIT_FLAG ? event_name(head.other, p, head.id)
                                               : "an L0C tile (unitFlag)",
            head.where);
    }
    return text;
}

Where SimCore::first_blocked_at() const {
    for (const PipeState& state : pipes_) {
        if (!state.queue.empty()) return state.queue.front().where;
    }
    return waiting_.where;
}

}  // namespace sals::sim
