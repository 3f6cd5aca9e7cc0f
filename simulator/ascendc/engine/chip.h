// SPDX-License-Identifier: Apache-2.0
// chip.h - all cores, what they share, and the capacities of architecture 2201 (Atlas A2, 910B and 910_93).
#pragma once
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/launch.h"
#include "engine/sim_core.h"

namespace sals::sim {

class Scheduler;

inline constexpr uint64_t RESERVED_BYTES = 256;  // of UB and L1, in a kernel that uses cubes and vectors
inline constexpr uint64_t RESERVED_UB_BYTES = 8 * 1024;  // the compiler's own, unless it is told otherwise
inline constexpr uint64_t UB_BYTES = 192 * 1024 - RESERVED_UB_BYTES;
inline constexpr uint64_t L1_BYTES = 512 * 1024;
inline constexpr uint64_t L0A_BYTES = 64 * 1024;
inline constexpr uint64_t L0B_BYTES = 64 * 1024;
inline constexpr uint64_t L0C_BYTES = 128 * 1024;
inline constexpr uint64_t BT_BYTES = 1024;
inline constexpr uint64_t FB_BYTES = 2 * 1024;
inline constexpr uint64_t AIC_CACHE_BYTES = 16 * 1024;
inline constexpr uint64_t AIV_CACHE_BYTES = 32 * 1024;

class Chip {
public:
    Chip(const std::function<void()>& kernel, const std::vector<GmRegion>& regions,
         const LaunchOptions& options);
    ~Chip();

    LaunchResult run();

    const LaunchOptions& options() const { return options_; }
    GmSpace& gm() { return gm_; }
    std::mt19937_64& random() { return random_; }
    std::vector<std::unique_ptr<SimCore>>& cores() { return cores_; }
    Scheduler& scheduler() { return *scheduler_; }
    int num_threads() const { return static_cast<int>(cores_.size()) * NUM_PIPES; }
    size_t snapshot_size() const { return cores_.size() * (NUM_PIPES + 1); }
    uint64_t capacity(Mem mem) const;

    void report(Finding finding);
    // Counts a synchronisation; true when the mutation of this run leaves it out.
    bool leaves_out(const SimCore& core, const std::string& what, const std::string& pair, Where where);

    // A cross-core flag set by `core` has taken effect: hand it to those who wait for it.
    void cross_core_set(SimCore& core, int mode, int id, CrossCoreMessage message);
    // SyncAll: `core` arrives with what it knows; the generation it belongs to.
    int arrive(SimCore& core, bool aiv_only, const Snapshot& snapshot);
    bool all_arrived(bool aiv_only, int generation) const;
    const CrossCoreMessage& barrier_result(bool aiv_only, int generation) const;

private:
    struct Barrier {
        int arrived = 0;
        CrossCoreMessage joined;
    };
    using Sets = std::vector<std::deque<CrossCoreMessage>>;  // of one flag, by core that sets it
    int group_of(const SimCore& core) const;
    std::vector<SimCore*> members(CoreKind kind, int group) const;  // group -1: the whole chip
    void check_counter(SimCore& core, int id, const CrossCoreMessage& message,
                       const std::vector<SimCore*>& receivers);
    void report_half_set(int id, const Sets& sets);
    void report_deadlock();
    void collect(LaunchResult& result);

    LaunchOptions options_;
    GmSpace gm_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<SimCore>> cores_;
    std::unique_ptr<Scheduler> scheduler_;
    std::vector<Finding> findings_;
    std::set<std::string> reported_;
    std::map<std::string, SyncSite> sites_;
    std::map<std::tuple<int, int, int, int>, Sets> joins_;  // by mode, id, kind, group
    std::vector<Barrier> barriers_[2];
    std::vector<int> generation_[2];  // by core
};

}  // namespace sals::sim
