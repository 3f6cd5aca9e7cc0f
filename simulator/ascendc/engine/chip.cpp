// SPDX-License-Identifier: Apache-2.0
// chip.cpp - builds the cores, joins the flags they send each other, and gathers what happened.
#include "engine/chip.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/cost.h"
#include "engine/scheduler.h"
#include "engine/stack_guard.h"

namespace sals::sim {

Chip::Chip(const std::function<void()>& kernel, const std::vector<GmRegion>& regions,
           const LaunchOptions& options)
    : options_(options), gm_(regions), random_(options.seed) {
    const int vectors = options.vectors_per_cube;
    const bool mix_or_cube = options.cube_cores;
    if (options.cores < 1 || vectors < 0 || (!mix_or_cube && vectors == 0)) {
        throw std::invalid_argument("launch: cores must be at least 1 and hold a cube or a vector core");
    }
    std::vector<SimCore::Place> places;
    for (int group = 0; group < options.cores; ++group) {
        const auto add = [&](CoreKind kind, int block_idx, int sub_block_idx) {
            const SimCore::Place place{kind, static_cast<int>(cores_.size()), block_idx, options.cores,
                                       sub_block_idx};
            cores_.emplace_back();  // num_threads() must be final before the first core is made
            places.push_back(place);
        };
        if (mix_or_cube) add(CoreKind::AIC, group, 0);
        for (int v = 0; v < vectors; ++v) add(CoreKind::AIV, group * vectors + v, v);
    }
    for (size_t i = 0; i < places.size(); ++i) {
        cores_[i] = std::make_unique<SimCore>(*this, places[i], kernel);
    }
    scheduler_ = options.seed == 0 ? make_timed_scheduler(*this) : make_random_scheduler(*this);
    for (auto& generations : generation_) generations.assign(cores_.size(), 0);
}

Chip::~Chip() = default;

uint64_t Chip::capacity(Mem mem) const {
    const bool mix = options_.cube_cores && options_.vectors_per_cube > 0;
    const uint64_t reserved = mix ? RESERVED_BYTES : 0;
    switch (mem) {
        case Mem::UB:
            return UB_BYTES - reserved;
        case Mem::L1:
            return L1_BYTES - reserved;
        case Mem::L0A:
            return L0A_BYTES;
        case Mem::L0B:
            return L0B_BYTES;
        case Mem::L0C:
            return L0C_BYTES;
        case Mem::BT:
            return BT_BYTES;
        case Mem::FB:
            return FB_BYTES;
        case Mem::GM:
            break;
    }
    return 0;
}

void Chip::report(Finding finding) {
    const auto place = [](const Where& w) { return std::string(w.file) + ":" + std::to_string(w.line); };
    const std::string kind = finding.text.substr(0, finding.text.find_first_of("0123456789"));
    const std::string key =
        std::to_string(static_cast<int>(finding.check)) + place(finding.where) + place(finding.other) + kind;
    if (!reported_.insert(key).second) return;
    if (static_cast<int>(findings_.size()) < options_.max_findings) findings_.push_back(std::move(finding));
}

bool Chip::leaves_out(const SimCore& core, const std::string& what, const std::string& pair, Where where) {
    if (where.implied) return false;
    const std::string kind = core.kind() == CoreKind::AIC ? "AIC " : "AIV ";
    const char* slash = std::strrchr(where.file, '/');
    const std::string file = slash == nullptr ? where.file : slash + 1;
    const std::string key = kind + what + " " + file + ":" + std::to_string(where.line);
    SyncSite& site = sites_[key];
    site.key = key;
    site.where = where;
    const bool between_cores =
        pair.rfind("CrossCore", 0) == 0;  // one pair has its sides on both kinds of core
    if (!pair.empty()) site.pair = between_cores ? pair : kind + pair;
    ++site.count;
    const Mutation& mutation = options_.mutation;
    if (mutation.site.empty()) return false;
    if (mutation.sub_block >= 0 && mutation.sub_block != core.sub_block_idx()) return false;
    return mutation.site == site.key || (!site.pair.empty() && mutation.site == site.pair);
}

// ---- flags between cores ---------------------------------------------------------------------------------

int Chip::group_of(const SimCore& core) const {
    return core.kind() == CoreKind::AIC ? core.block_idx() : core.block_idx() / options_.vectors_per_cube;
}

// Cores of one kind, of the whole chip or of one group.
std::vector<SimCore*> Chip::members(CoreKind kind, int group) const {
    std::vector<SimCore*> found;
    for (const auto& core : cores_) {
        if (core->kind() == kind && (group < 0 || group_of(*core) == group)) found.push_back(core.get());
    }
    return found;
}

// The counter behind a flag ends at 15: a set must come after the wait for the one 15 sets earlier, in every
// order.
void Chip::check_counter(SimCore& core, int id, const CrossCoreMessage& message,
                         const std::vector<SimCore*>& receivers) {
    const size_t number = ++core.sets_[id];
    if (number <= MAX_CROSS_CORE_SETS) return;
    const size_t needed = number - MAX_CROSS_CORE_SETS - 1;
    for (const SimCore* receiver : receivers) {
        const auto& waits = receiver->waits_[id];
        const size_t scalar =
            static_cast<size_t>(receiver->index()) * NUM_PIPES + static_cast<size_t>(Pipe::S);
        if (needed < waits.size() && waits[needed] <= message.snapshot[scalar]) continue;
        report({Check::SYNCCHECK,
                core.name(),
                message.where,
                {},
                "cross-core flag " + std::to_string(id) + " may be set for the 16th time before " +
                    receiver->name() +
                    " has waited for the first: its counter ends at 15 and the device aborts. "
                    "Let the receiver answer in between."});
        return;
    }
}

void Chip::cross_core_set(SimCore& core, int mode, int id, CrossCoreMessage message) {
    const int group = group_of(core);
    if (mode == 2 && core.kind() == CoreKind::AIC) {
        const std::vector<SimCore*> vectors = members(CoreKind::AIV, group);
        check_counter(core, id, message, vectors);
        for (SimCore* vector : vectors) vector->deliver(id, message);
        return;
    }
    const int scope = mode == 0 ? -1 : group;
    const std::vector<SimCore*> senders = members(core.kind(), scope);
    const std::vector<SimCore*> receivers = mode == 2 ? members(CoreKind::AIC, group) : senders;
    check_counter(core, id, message, receivers);
    const auto key = std::make_tuple(mode, id, static_cast<int>(core.kind()), scope);
    auto& sets = joins_[key];
    sets.resize(senders.size());
    const size_t who = std::find(senders.begin(), senders.end(), &core) - senders.begin();
    sets[who].push_back(std::move(message));
    if (std::any_of(sets.begin(), sets.end(), [](const auto& queue) { return queue.empty(); })) return;
    CrossCoreMessage joined = sets[0].front();
    for (auto& queue : sets) {
        join(joined.snapshot, queue.front().snapshot);
        joined.time = std::max(joined.time, queue.front().time);
        queue.pop_front();
    }
    for (SimCore* receiver : receivers) receiver->deliver(id, joined);
}

int Chip::arrive(SimCore& core, bool aiv_only, const Snapshot& snapshot) {
    const int generation = generation_[aiv_only][core.index()]++;
    auto& barriers = barriers_[aiv_only];
    if (static_cast<int>(barriers.size()) <= generation) {
        barriers.emplace_back();
        barriers.back().joined.snapshot.assign(snapshot_size(), 0);
    }
    Barrier& barrier = barriers[generation];
    ++barrier.arrived;
    join(barrier.joined.snapshot, snapshot);
    barrier.joined.time = std::max(barrier.joined.time, core.scalar_time());
    if (all_arrived(aiv_only, generation)) {
        for (auto& other : cores_) scheduler_->wake_scalar(*other);
    }
    return generation;
}

bool Chip::all_arrived(bool aiv_only, int generation) const {
    const size_t participants = aiv_only ? members(CoreKind::AIV, -1).size() : cores_.size();
    return barriers_[aiv_only][generation].arrived == static_cast<int>(participants);
}

const CrossCoreMessage& Chip::barrier_result(bool aiv_only, int generation) const {
    return barriers_[aiv_only][generation].joined;
}

// ---- run -------------------------------------------------------------------------------------------------

LaunchResult Chip::run() {
    {
        const StackGuard guard;
        scheduler_->run();
    }
    const bool stuck = std::any_of(cores_.begin(), cores_.end(),
                                   [](const auto& core) { return !core->finished() || !core->idle(); });
    if (stuck) {
        report_deadlock();
    } else {
        for (auto& core : cores_) core->end_of_kernel();
        for (const auto& [key, sets] : joins_) report_half_set(std::get<1>(key), sets);
    }
    LaunchResult result;
    collect(result);
    return result;
}

void Chip::report_half_set(int id, const std::vector<std::deque<CrossCoreMessage>>& sets) {
    for (const auto& queue : sets) {
        if (queue.empty()) continue;
        report({Check::SYNCCHECK,
                "",
                queue.front().where,
                {},
                "cross-core flag " + std::to_string(id) +
                    " is set by some of the cores that share it and not by the others, so it never takes "
                    "effect. Every one of them must set it equally often."});
        return;
    }
}

void Chip::report_deadlock() {
    std::string text = "the kernel cannot go on. Who waits for what:";
    int listed = 0;
    Where first;
    for (const auto& core : cores_) {
        const std::string blocked = core->describe_blocked();
        if (blocked.empty()) continue;
        if (listed == 0) first = core->first_blocked_at();
        if (++listed > 12) continue;
        text += "\n    " + blocked;
    }
    if (listed > 12) text += "\n    and " + std::to_string(listed - 12) + " more cores";
    report({Check::SYNCCHECK, "", first, {}, text});
}

void Chip::collect(LaunchResult& result) {
    result.findings = std::move(findings_);
    for (auto& [key, site] : sites_) result.sync_sites.push_back(site);
    for (const Region& region : gm_.regions()) {
        result.region_read_bytes.emplace_back(region.given().name, region.read_bytes);
        result.region_write_bytes.emplace_back(region.given().name, region.write_bytes);
    }
    scheduler_->fill(result);
}

LaunchResult launch(const std::function<void()>& kernel, const std::vector<GmRegion>& regions,
                    const LaunchOptions& options) {
    return Chip(kernel, regions, options).run();
}

}  // namespace sals::sim
