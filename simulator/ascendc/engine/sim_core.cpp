// SPDX-License-Identifier: Apache-2.0
// sim_core.cpp - the scalar unit: dispatching to the pipes, and waiting.
#include "engine/sim_core.h"

#include <cstring>

#include "engine/chip.h"
#include "engine/cost.h"
#include "engine/scheduler.h"

namespace sals::sim {

static SimCore* current_core = nullptr;

Core& Core::current() { return *current_core; }

static const Pipe ALL_PIPES[] = {Pipe::V, Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::MTE3, Pipe::FIX};

static std::string event_name(Pipe src, Pipe dst, int id) {
    return std::string(name_of(src)) + "_" + name_of(dst) + "(" + std::to_string(id) + ")";
}

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
    snapshots_.push_back(std::make_shared<Snapshot>(chip.num_threads(), 0));
    auto& random = chip.random();
    registers_.mask_counter_mode = (random() & 1) != 0;
    registers_.mask[0] = random();
    registers_.mask[1] = random();
    registers_.atomic_op = static_cast<int>(random() % 4);
    registers_.deq_scalar = random();
    registers_.pad_value = random();
    registers_.nd_num = static_cast<uint16_t>(random());
    scalar_time_ = launch_cycles();
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
    scalar_time_ += dispatch_cycles();
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

// ---- flags between pipes of this core --------------------------------------------------------------------

bool SimCore::check_event_id(int id, Where where) {
    const int usable = NUM_EVENT_IDS - 2;  // 6 and 7 are reserved
    if (id >= 0 && id < usable) return true;
    report(Check::SYNCCHECK, where,
           "event id " + std::to_string(id) + " must be in [0, " + std::to_string(usable) +
               "): ids 6 and 7 of every pipe pair are reserved");
    return id >= 0 && id < NUM_EVENT_IDS;
}

void SimCore::set_flag(Pipe src, Pipe dst, int id, Where where) {
    if (!check_event_id(id, where)) return;
    const std::string event = event_name(src, dst, id);
    if (chip_.leaves_out(*this, "SetFlag " + event, event, where)) return;
    if (src == Pipe::S) {
        scalar_time_ += dispatch_cycles();
        next_scalar_index("SetFlag", where);
        raise_flag(src, dst, id, clock(Pipe::S), where);
        return;
    }
    Item item = make_item(Item::Kind::SET_FLAG, src, where, "SetFlag");
    item.other = dst;
    item.id = id;
    enqueue(src, std::move(item));
}

void SimCore::wait_flag(Pipe src, Pipe dst, int id, Where where) {
    if (!check_event_id(id, where)) return;
    const std::string event = event_name(src, dst, id);
    if (chip_.leaves_out(*this, "WaitFlag " + event, event, where)) return;
    if (dst == Pipe::S) {
        const EventFlag& f = flag(src, dst, id);
        wait_until([&f] { return f.set; }, "WaitFlag " + event, where);
        scalar_time_ = std::max(scalar_time_, f.time) + dispatch_cycles();
        lower_flag(src, dst, id, next_scalar_index("WaitFlag", where), clock(Pipe::S), where);
        return;
    }
    Item item = make_item(Item::Kind::WAIT_FLAG, dst, where, "WaitFlag");
    item.other = src;
    item.id = id;
    enqueue(dst, std::move(item));
}

// `known` is what the setting pipe knows, everything before the SetFlag included.
void SimCore::raise_flag(Pipe src, Pipe dst, int id, const Clock& known, Where where) {
    EventFlag& f = flag(src, dst, id);
    if (f.set || f.consumed > known.complete[static_cast<int>(dst)]) {
        chip_.report(
            {Check::SYNCCHECK, name(), where, f.set ? f.where : f.waited_at,
             "SetFlag " + event_name(src, dst, id) +
                 " may run before the WaitFlag for the previous one: the flag is one bit and would be "
                 "lost. Wait first, or use another event id."});
    }
    f.set = true;
    f.time = src == Pipe::S ? scalar_time_ : now_;
    f.clock = known;
    f.where = where;
    if (dst == Pipe::S) {
        chip_.scheduler().wake_scalar(*this);
    } else {
        chip_.scheduler().wake(*this, dst);
    }
}

void SimCore::lower_flag(Pipe src, Pipe dst, int id, uint32_t index, Clock& into, Where where) {
    EventFlag& f = flag(src, dst, id);
    f.set = false;
    f.consumed = index;
    f.waited_at = where;
    into.join(f.clock);
}

void SimCore::pipe_barrier(Pipe p, Where where) {
    const std::string what = std::string("PipeBarrier<PIPE_") + name_of(p) + ">";
    if (chip_.leaves_out(*this, what, "", where)) return;
    if (p == Pipe::S) return;
    enqueue(p, make_item(Item::Kind::BARRIER, p, where, "PipeBarrier"));
}

void SimCore::pipe_barrier_all(Where where) {
    if (chip_.leaves_out(*this, "PipeBarrier<PIPE_ALL>", "", where)) return;
    for (Pipe p : ALL_PIPES) drain(p, where);
}

void SimCore::drain(Pipe p, Where where) {
    PipeState& state = pipe(p);
    wait_until([&state] { return state.queue.empty() && !state.in_transfer; },
               std::string("pipe ") + name_of(p) + " to finish", where);
    scalar_time_ = std::max(scalar_time_, state.done_at);
    Clock& scalar = clock(Pipe::S);
    scalar.join(state.clock);
    scalar.complete[static_cast<int>(p)] = state.dispatched;
}

// ---- flags between cores ---------------------------------------------------------------------------------

static constexpr int FIRST_RESERVED_CROSS_CORE_ID = 11;  // 11 to 14 belong to SyncAll

void SimCore::cross_core_set(int mode, Pipe p, int id, Where where) {
    if (id < 0 || id >= FIRST_RESERVED_CROSS_CORE_ID) {
        report(Check::SYNCCHECK, where,
               "cross-core flag id " + std::to_string(id) +
                   " must be in [0, 11): ids 11 to 14 belong to SyncAll");
        return;
    }
    if (mode < 0 || mode > 2) {
        report(Check::SYNCCHECK, where,
               "CrossCoreSetFlag mode must be 0, 1 or 2, got " + std::to_string(mode));
        return;
    }
    const std::string event = "CrossCore(" + std::to_string(id) + ")";
    if (chip_.leaves_out(*this, "CrossCoreSetFlag " + event, event, where)) return;
    if (cross_core_mode_[id] >= 0 && cross_core_mode_[id] != mode) {
        report(Check::SYNCCHECK, where,
               "cross-core flag " + std::to_string(id) + " is set in mode " + std::to_string(mode) +
                   " after mode " + std::to_string(cross_core_mode_[id]) + ". Use one id per mode.");
    }
    cross_core_mode_[id] = mode;
    Item item = make_item(Item::Kind::CROSS_CORE_SET, p, where, "CrossCoreSetFlag");
    item.id = id;
    item.mode = mode;
    enqueue(p, std::move(item));
}

void SimCore::cross_core_wait(int id, Where where) {
    if (id < 0 || id >= FIRST_RESERVED_CROSS_CORE_ID) {
        report(Check::SYNCCHECK, where,
               "cross-core flag id " + std::to_string(id) +
                   " must be in [0, 11): ids 11 to 14 belong to SyncAll");
        return;
    }
    const std::string event = "CrossCore(" + std::to_string(id) + ")";
    if (chip_.leaves_out(*this, "CrossCoreWaitFlag " + event, event, where)) return;
    auto& messages = messages_[id];
    wait_until([&messages] { return !messages.empty(); }, "CrossCoreWaitFlag " + event, where);
    scalar_time_ = std::max(scalar_time_, messages.front().time) + dispatch_cycles();
    learn(messages.front().snapshot);
    messages.pop_front();
}

void SimCore::deliver(int id, CrossCoreMessage message) {
    auto& messages = messages_[id];
    if (messages.size() >= MAX_CROSS_CORE_SETS) {
        report(Check::SYNCCHECK, message.where,
               "cross-core flag " + std::to_string(id) +
                   " is set for the 16th time without a wait: its counter ends at 15 and the device aborts");
        return;
    }
    messages.push_back(std::move(message));
    chip_.scheduler().wake_scalar(*this);
}

Snapshot SimCore::snapshot_of(const Clock& known) const {
    Snapshot snapshot = *snapshots_[known.snapshot];
    for (int p = 0; p < NUM_PIPES; ++p) {
        uint32_t& own = snapshot[index_ * NUM_PIPES + p];
        own = std::max(own, known.complete[p]);
    }
    return snapshot;
}

void SimCore::learn(const Snapshot& news) {
    auto merged = std::make_shared<Snapshot>(*snapshots_[clock(Pipe::S).snapshot]);
    join(*merged, news);
    clock(Pipe::S).snapshot = static_cast<uint32_t>(snapshots_.size());
    snapshots_.push_back(std::move(merged));
}

void SimCore::sync_all(bool aiv_only, Where where) {
    if (chip_.leaves_out(*this, aiv_only ? "SyncAll<true>" : "SyncAll<false>", "", where)) return;
    if (aiv_only && kind_ != CoreKind::AIV) return;  // vector cores only: nothing to do on an AIC
    if (!chip_.options().batch_schedule) {
        report(Check::SYNCCHECK, where,
               "SyncAll needs batch scheduling: without it two kernels can each hold some cores and wait for "
               "the rest for ever. Call SetScheduleMode(1) in the tiling function.");
    }
    for (Pipe p : ALL_PIPES) drain(p, where);
    const int generation = chip_.arrive(*this, aiv_only, snapshot_of(clock(Pipe::S)));
    wait_until([this, aiv_only, generation] { return chip_.all_arrived(aiv_only, generation); },
               "SyncAll: cores that have not called it yet", where);
    const CrossCoreMessage& joined = chip_.barrier_result(aiv_only, generation);
    scalar_time_ = std::max(scalar_time_, joined.time) + sync_all_cycles();
    learn(joined.snapshot);
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
    for (int id = 0; id < NUM_CROSS_CORE_IDS; ++id) {
        if (messages_[id].empty()) continue;
        report(Check::SYNCCHECK, messages_[id].front().where,
               "cross-core flag " + std::to_string(id) + " is set " + std::to_string(messages_[id].size()) +
                   " time(s) more often than " + name() +
                   " waits for it: the counter stays up for the next kernel. Add the CrossCoreWaitFlag.");
    }
}

std::string SimCore::describe_blocked() const {
    if (waiting_.ready) {
        return name() + " S waits for " + waiting_.what + " at " + waiting_.where.file + ":" +
               std::to_string(waiting_.where.line);
    }
    std::string text;
    for (int p = 0; p < NUM_PIPES; ++p) {
        if (pipes_[p].queue.empty()) continue;
        const Item& head = pipes_[p].queue.front();
        if (!text.empty()) text += "; ";
        text += name() + " " + name_of(static_cast<Pipe>(p)) + " waits for ";
        text += head.kind == Item::Kind::WAIT_FLAG ? event_name(head.other, static_cast<Pipe>(p), head.id)
                                                   : std::string("an L0C tile (unitFlag)");
        text += std::string(" at ") + head.where.file + ":" + std::to_string(head.where.line);
    }
    return text;
}

Where SimCore::first_blocked_at() const {
    if (waiting_.ready) return waiting_.where;
    for (const PipeState& state : pipes_) {
        if (!state.queue.empty()) return state.queue.front().where;
    }
    return {};
}

}  // namespace sals::sim
