// SPDX-License-Identifier: Apache-2.0
// timed_scheduler.cpp - events in the order of modelled time. The order is legal, deterministic, and the only
// one for which cycles mean anything.
#include <algorithm>
#include <limits>
#include <queue>

#include "engine/chip.h"
#include "engine/cost.h"
#include "engine/counters.h"
#include "engine/scheduler.h"
#include "engine/transfer.h"

namespace sals::sim {

namespace {

constexpr uint64_t L2_BYTES = 192ULL * 1024 * 1024;

struct Event {
    double time;
    uint64_t sequence;  // events at one time run in the order they were made
    std::function<void()> effect;
    bool operator>(const Event& other) const {
        return time != other.time ? time > other.time : sequence > other.sequence;
    }
};

class TimedScheduler final : public Scheduler {
public:
    explicit TimedScheduler(Chip& chip)
        : chip_(chip),
          counters_(chip.cores().size(), chip.options().trace),
          l2_(L2_BYTES),
          bandwidth_(chip.options().clock_ghz) {}

    void run() override;
    void wake(SimCore& core, Pipe p) override;
    void wake_scalar(SimCore& core) override { scalars_.push_back(&core); }
    void when_complete(SimCore& core, Pipe p, double cycles, std::function<void(double)> effect) override {
        at(core.pipe(p).done_at + cycles, [this, effect = std::move(effect)] { effect(now_); });
    }
    void between_dispatches(SimCore&) override {}
    void let_others_run(SimCore& core) override {
        at(core.scalar_time(), [this, &core] { wake_scalar(core); });
        core.yield();
    }
    void scalar_fetch(uint64_t address, uint32_t bytes) override;
    void fill(LaunchResult& result) override;

private:
    struct Flow {  // GM traffic of an instruction that is still going on
        SimCore* core;
        Pipe pipe;
        Item item;
        double begin;
        Timing timing;
    };

    void at(double time, std::function<void()> effect) {
        events_.push({std::max(time, now_), sequence_++, std::move(effect)});
    }
    void run_scalars();
    void run_head(SimCore& core, Pipe p);
    void start_transfer(SimCore& core, Pipe p, Item item, const Timing& timing, const Transfer& transfer);
    void end_transfer(int flow);
    void finish(SimCore& core, Pipe p, const Item& item, double begin, double end, double latency);

    Chip& chip_;
    Counters counters_;
    L2Cache l2_;
    Bandwidth bandwidth_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<SimCore*> scalars_;
    std::map<int, Flow> flows_;
    double now_ = 0;
    uint64_t sequence_ = 0;
    double hbm_read_ = 0, hbm_write_ = 0, l2_read_ = 0, l2_write_ = 0;
};

void TimedScheduler::run() {
    for (auto& core : chip_.cores()) wake_scalar(*core);
    for (;;) {
        run_scalars();
        const double event_time =
            events_.empty() ? std::numeric_limits<double>::infinity() : events_.top().time;
        const double flow_time = bandwidth_.next_completion();
        if (event_time <= flow_time) {
            if (events_.empty()) return;
            Event event = std::move(const_cast<Event&>(events_.top()));
            events_.pop();
            now_ = event.time;
            event.effect();
        } else {
            now_ = std::max(now_, flow_time);
            end_transfer(bandwidth_.complete_next());
        }
    }
}

void TimedScheduler::run_scalars() {
    while (!scalars_.empty()) {
        SimCore* core = scalars_.back();
        scalars_.pop_back();
        if (core->runnable()) core->resume(now_);
    }
}

void TimedScheduler::wake(SimCore& core, Pipe p) {
    PipeState& state = core.pipe(p);
    if (state.scheduled || state.in_transfer || state.queue.empty()) return;
    if (!core.head_ready(p)) {
        if (state.waiting_since < 0) {
            state.waiting_since = std::max(state.free_at, state.queue.front().dispatched);
        }
        return;
    }
    state.scheduled = true;
    at(core.head_time(p), [this, &core, p] { run_head(core, p); });
}

void TimedScheduler::run_head(SimCore& core, Pipe p) {
    PipeState& state = core.pipe(p);
    state.scheduled = false;
    if (state.waiting_since >= 0) {
        counters_.waited(core, p, std::max(0.0, now_ - state.waiting_since));
        state.waiting_since = -1;
    }
    Item item = core.execute_head(p);
    if (item.kind == Item::Kind::INSTRUCTION) {
        const Timing timing = timing_of(item.instruction);
        const auto& accesses = item.instruction.accesses;
        const bool uses_gm = std::any_of(accesses.begin(), accesses.end(),
                                         [](const Access& a) { return a.mem == Mem::GM && !a.span.empty(); });
        if (uses_gm) {
            const Transfer transfer = l2_.access(item.instruction);
            start_transfer(core, p, std::move(item), timing, transfer);
            return;
        }
        finish(core, p, item, now_, now_ + timing.setup + timing.payload, timing.latency);
    } else {
        finish(core, p, item, now_, now_ + sync_cycles(), 0);
    }
    wake(core, p);
}

void TimedScheduler::start_transfer(SimCore& core, Pipe p, Item item, const Timing& timing,
                                    const Transfer& transfer) {
    core.pipe(p).in_transfer = true;
    hbm_read_ += transfer.hbm_bytes;
    hbm_write_ += transfer.writeback_bytes;
    (transfer.write ? l2_write_ : l2_read_) += transfer.l2_bytes;
    auto flow = std::make_shared<Flow>(Flow{&core, p, std::move(item), now_, timing});
    at(now_ + timing.setup, [this, flow, transfer] {
        const int id = bandwidth_.start(now_, transfer);
        flows_.emplace(id, std::move(*flow));
    });
}

void TimedScheduler::end_transfer(int id) {
    auto node = flows_.extract(id);
    Flow& flow = node.mapped();
    const double end = std::max(now_, flow.begin + flow.timing.setup + flow.timing.payload);
    flow.core->pipe(flow.pipe).in_transfer = false;
    finish(*flow.core, flow.pipe, flow.item, flow.begin, end, flow.timing.latency);
    wake(*flow.core, flow.pipe);
    wake_scalar(*flow.core);
}

void TimedScheduler::finish(SimCore& core, Pipe p, const Item& item, double begin, double end,
                            double latency) {
    PipeState& state = core.pipe(p);
    state.free_at = end;
    state.done_at = std::max(state.done_at, end + latency);
    counters_.executed(core, p, item, begin, end);
}

// Its time is part of the scalar unit's miss; only the bytes are counted.
void TimedScheduler::scalar_fetch(uint64_t address, uint32_t bytes) {
    Instruction line;
    line.name = "GetValue";
    line.accesses = {{Mem::GM, Use::READ, Span::run(address, bytes)}};
    const Transfer transfer = l2_.access(line);
    hbm_read_ += transfer.hbm_bytes;
    l2_read_ += transfer.l2_bytes;
}

void TimedScheduler::fill(LaunchResult& result) {
    std::vector<std::string> names;
    for (auto& core : chip_.cores()) {
        double end = core->scalar_time();
        counters_.core(core->index()).pipe[static_cast<int>(Pipe::S)].busy = core->scalar_busy();
        for (int p = 0; p < NUM_PIPES; ++p) end = std::max(end, core->pipe(static_cast<Pipe>(p)).done_at);
        counters_.core(core->index()).end = end;
        result.cycles = std::max(result.cycles, end);
        names.push_back(core->name());
    }
    counters_.fill(result, names);
    result.launch_cycles = launch_cycles();
    for (const Region& region : chip_.gm().regions()) {  // a workspace may stay in the L2, results may not
        const GmRegion::Role role = region.given().role;
        const bool is_result = role == GmRegion::Role::OUTPUT || role == GmRegion::Role::INOUT;
        if (is_result) hbm_write_ += l2_.dirty_bytes(region.begin(), region.end());
    }
    result.hbm_read_bytes = hbm_read_;
    result.hbm_write_bytes = hbm_write_;
    result.l2_read_bytes = l2_read_;
    result.l2_write_bytes = l2_write_;
}

}  // namespace

std::unique_ptr<Scheduler> make_timed_scheduler(Chip& chip) { return std::make_unique<TimedScheduler>(chip); }

}  // namespace sals::sim
