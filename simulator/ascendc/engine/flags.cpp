// SPDX-License-Identifier: Apache-2.0
// flags.cpp - synchronisation: flags between the pipes of a core, barriers, flags between cores, SyncAll.
#include <algorithm>

#include "engine/chip.h"
#include "engine/cost.h"
#include "engine/scheduler.h"
#include "engine/sim_core.h"

namespace sals::sim {

static const Pipe ALL_PIPES[] = {Pipe::V, Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::MTE3, Pipe::FIX};

std::string event_name(Pipe src, Pipe dst, int id) {
    return std::string(name_of(src)) + "_" + name_of(dst) + "(" + std::to_string(id) + ")";
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
        scalar_works(dispatch_cycles());
        next_scalar_index("SetFlag", where);
        Clock known = clock(Pipe::S);
        known.store_all();
        raise_flag(src, dst, id, known, where, scalar_time_);
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
        scalar_time_ = std::max(scalar_time_, f.time);
        scalar_works(dispatch_cycles());
        lower_flag(src, dst, id, next_scalar_index("WaitFlag", where), clock(Pipe::S), where);
        return;
    }
    Item item = make_item(Item::Kind::WAIT_FLAG, dst, where, "WaitFlag");
    item.other = src;
    item.id = id;
    enqueue(dst, std::move(item));
}

// `known` is what the setting pipe knows, everything before the SetFlag included.
void SimCore::raise_flag(Pipe src, Pipe dst, int id, const Clock& known, Where where, double time) {
    EventFlag& f = flag(src, dst, id);
    if (f.set || f.consumed > known.complete[static_cast<int>(dst)]) {
        chip_.report(
            {Check::SYNCCHECK, name(), where, f.set ? f.where : f.waited_at,
             "SetFlag " + event_name(src, dst, id) +
                 " may run before the WaitFlag for the previous one: the flag is one bit and would be "
                 "lost. Wait first, or use another event id."});
    }
    if (f.set) {  // reported: the run goes on as if it had not been lost, and may show more
        ++f.lost;
        return;
    }
    f.set = true;
    f.time = time;
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
    f.set = f.lost > 0;
    f.lost = std::max(0, f.lost - 1);
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
    clock(Pipe::S).store_all();
}

void SimCore::settle(Pipe p, Where where) {
    PipeState& state = pipe(p);
    wait_until([&state] { return state.queue.empty() && !state.in_transfer; },
               std::string("pipe ") + name_of(p) + " to finish", where);
}

void SimCore::drain(Pipe p, Where where) {
    settle(p, where);
    PipeState& state = pipe(p);
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
    if (p == Pipe::S) {
        scalar_works(dispatch_cycles());
        pipe(Pipe::S).done_at = scalar_time_;
        next_scalar_index("CrossCoreSetFlag", where);
        send(Pipe::S, mode, id, clock(Pipe::S), where);
        return;
    }
    Item item = make_item(Item::Kind::CROSS_CORE_SET, p, where, "CrossCoreSetFlag");
    item.id = id;
    item.mode = mode;
    enqueue(p, std::move(item));
}

// Sets of one flag by one pipe take effect in their order, however the scheduler orders the effects: the
// first wait may be answered by the first set, and must not learn what only the second one knows.
void SimCore::send(Pipe p, int mode, int id, const Clock& known, Where where) {
    auto& sent = sent_[id * NUM_PIPES + static_cast<int>(p)];
    sent.push_back({snapshot_of(known), 0, where});
    chip_.scheduler().when_complete(*this, p, cross_core_cycles(), [this, mode, id, &sent](double time) {
        CrossCoreMessage message = std::move(sent.front());
        sent.pop_front();
        message.time = time;
        chip_.cross_core_set(*this, mode, id, std::move(message));
    });
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
    scalar_time_ = std::max(scalar_time_, messages.front().time);
    scalar_works(dispatch_cycles());
    learn(messages.front().snapshot);
    messages.pop_front();
    waits_[id].push_back(next_scalar_index("CrossCoreWaitFlag", where));
}

void SimCore::deliver(int id, CrossCoreMessage message) {
    messages_[id].push_back(std::move(message));
    chip_.scheduler().wake_scalar(*this);
}

Snapshot SimCore::snapshot_of(const Clock& known) const {
    Snapshot snapshot = *snapshots_[known.snapshot];
    for (int p = 0; p < NUM_PIPES; ++p) {
        uint32_t& own = snapshot[index_ * NUM_PIPES + p];
        own = std::max(own, known.complete[p]);
    }
    uint32_t& stored = snapshot[chip_.num_threads() + index_];
    stored = std::max(stored, known.stored);
    return snapshot;
}

// News may be of this core itself: in modes 0 and 1 a core waits for its own set too.
void SimCore::learn(const Snapshot& news) {
    Clock& scalar = clock(Pipe::S);
    for (int p = 0; p < NUM_PIPES; ++p) {
        scalar.complete[p] = std::max(scalar.complete[p], news[index_ * NUM_PIPES + p]);
    }
    scalar.stored = std::max(scalar.stored, news[chip_.num_threads() + index_]);
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
    clock(Pipe::S).store_all();
    const int generation = chip_.arrive(*this, aiv_only, snapshot_of(clock(Pipe::S)));
    wait_until([this, aiv_only, generation] { return chip_.all_arrived(aiv_only, generation); },
               "SyncAll: cores that have not called it yet", where);
    const CrossCoreMessage& joined = chip_.barrier_result(aiv_only, generation);
    scalar_time_ = std::max(scalar_time_, joined.time) + sync_all_cycles();
    learn(joined.snapshot);
}

}  // namespace sals::sim
