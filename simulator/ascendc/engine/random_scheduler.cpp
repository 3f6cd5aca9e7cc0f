// SPDX-License-Identifier: Apache-2.0
// random_scheduler.cpp - a seeded random legal order: any scalar unit that can go on, any pipe whose head can
// execute, any cross-core flag on its way. Half of the seeds choose evenly; the other half give every unit a
// fixed rank and always run the highest, which lets some units run far ahead and starves others.
#include <algorithm>

#include "engine/chip.h"
#include "engine/counters.h"
#include "engine/scheduler.h"

namespace sals::sim {

namespace {

class RandomScheduler final : public Scheduler {
public:
    explicit RandomScheduler(Chip& chip)
        : chip_(chip), counters_(chip.cores().size(), false), ranked_(chip.options().seed % 2 == 0) {
        ranks_.resize(chip.num_threads());
        listed_.assign(chip.num_threads(), false);
        for (uint64_t& rank : ranks_) rank = chip.random()();
    }

    void run() override;
    void wake(SimCore& core, Pipe p) override { list(core, p); }
    void wake_scalar(SimCore& core) override { list(core, Pipe::S); }
    void when_complete(SimCore&, Pipe, double, std::function<void(double)> effect) override {
        effects_.push_back(std::move(effect));
    }
    void between_dispatches(SimCore& core) override {
        if (chip_.random()() % 4 == 0) let_others_run(core);
    }
    void let_others_run(SimCore& core) override {
        list(core, Pipe::S);
        core.yield();
    }
    void scalar_fetch(uint64_t, uint32_t) override {}
    void fill(LaunchResult& result) override {
        std::vector<std::string> names;
        for (auto& core : chip_.cores()) names.push_back(core->name());
        counters_.fill(result, names);
    }

private:
    struct Unit {
        SimCore* core;
        Pipe pipe;
    };
    size_t thread(const Unit& u) const { return u.core->index() * NUM_PIPES + static_cast<size_t>(u.pipe); }
    void list(SimCore& core, Pipe p) {
        const Unit unit{&core, p};
        if (listed_[thread(unit)]) return;
        listed_[thread(unit)] = true;
        units_.push_back(unit);
    }
    size_t choose();
    void run_unit(size_t which);

    Chip& chip_;
    Counters counters_;
    bool ranked_;
    std::vector<uint64_t> ranks_;
    std::vector<char> listed_;
    std::vector<Unit> units_;  // may turn out not to be ready
    std::vector<std::function<void(double)>> effects_;
};

size_t RandomScheduler::choose() {
    auto& random = chip_.random();
    // Now and then an even choice and a new rank: a fixed order alone would explore only its own extreme.
    if (!ranked_ || random() % 16 == 0) return random() % units_.size();
    const auto best = std::max_element(units_.begin(), units_.end(), [this](const Unit& a, const Unit& b) {
        return ranks_[thread(a)] < ranks_[thread(b)];
    });
    if (random() % 64 == 0) ranks_[thread(*best)] = random();
    return static_cast<size_t>(best - units_.begin());
}

void RandomScheduler::run() {
    for (auto& core : chip_.cores()) wake_scalar(*core);
    auto& random = chip_.random();
    while (!units_.empty() || !effects_.empty()) {
        const bool effect = !effects_.empty() && (units_.empty() || random() % 4 == 0);
        if (effect) {
            std::swap(effects_[random() % effects_.size()], effects_.back());
            const auto run = std::move(effects_.back());
            effects_.pop_back();
            run(0);
        } else {
            run_unit(choose());
        }
    }
}

void RandomScheduler::run_unit(size_t which) {
    const Unit unit = units_[which];
    units_[which] = units_.back();
    units_.pop_back();
    listed_[thread(unit)] = false;
    SimCore& core = *unit.core;
    if (unit.pipe == Pipe::S) {
        if (core.runnable()) core.resume(0);
        return;
    }
    if (!core.head_ready(unit.pipe)) return;  // it is listed again when that changes
    const Item item = core.execute_head(unit.pipe);
    counters_.executed(core, unit.pipe, item, 0, 0);
    if (!core.pipe(unit.pipe).queue.empty()) list(core, unit.pipe);
}

}  // namespace

std::unique_ptr<Scheduler> make_random_scheduler(Chip& chip) {
    return std::make_unique<RandomScheduler>(chip);
}

}  // namespace sals::sim
