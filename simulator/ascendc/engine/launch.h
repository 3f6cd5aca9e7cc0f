// SPDX-License-Identifier: Apache-2.0
// launch.h - runs a kernel on a simulated chip and says what happened.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/types.h"

namespace sals::sim {

// A piece of GM that the kernel may touch.
struct GmRegion {
    enum class Role : uint8_t { INPUT, OUTPUT, INOUT, WORKSPACE };
    std::string name;
    uint8_t* data = nullptr;
    uint64_t bytes = 0;
    Role role = Role::INPUT;  // INPUT: read-only and defined. OUTPUT, WORKSPACE: undefined until written.
};

// Leaves one synchronisation out, to prove that the detectors notice.
struct Mutation {
    std::string site;    // SyncSite::key or SyncSite::pair of an earlier run; empty: none
    int sub_block = -1;  // only this AIV of each pair; -1: every core
};

struct LaunchOptions {
    int cores = 24;            // AIC:AIV groups
    int vectors_per_cube = 2;  // 0: cube only (AIC); 2 with cube_cores = false: vector only
    bool cube_cores = true;
    uint64_t seed = 0;  // 0: in the order of modelled time. Else a random legal order.
    bool race_detection = true;
    bool auto_sync = false;      // the compiler's automatic synchronisation, for kernels written with it
    bool batch_schedule = true;  // the tiling asked for batch scheduling (SyncAll needs it)
    bool trace = false;
    double clock_ghz = 1.85;
    Mutation mutation;
    int max_findings = 100;
};

struct SyncSite {
    std::string key;   // "AIV SetFlag<MTE2_V>(2) reduce_scores.h:88"
    std::string pair;  // both sides of a flag: "AIV MTE2_V(2)"; empty for barriers
    Where where;
    int64_t count = 0;
};

struct PipeCounters {
    double busy = 0;  // cycles executing
    double wait = 0;  // cycles with work queued behind a flag or barrier
    int64_t instructions = 0;
};

struct CoreCounters {
    std::string name;  // "AIC 0", "AIV 1"
    PipeCounters pipe[NUM_PIPES];
    double end = 0;  // cycle at which the core finished
};

struct InstructionCount {
    std::string name;
    int64_t count = 0;
    double cycles = 0;
};

struct TraceEvent {
    int core;  // index into LaunchResult::cores
    Pipe pipe;
    const char* name;
    double begin, end;  // cycles
    Where where;
};

struct LaunchResult {
    std::vector<Finding> findings;
    double cycles = 0;         // modelled, from the first instruction; 0 when a seed chose the order
    double launch_cycles = 0;  // modelled, on top: until a core executes its first instruction
    double hbm_read_bytes = 0, hbm_write_bytes = 0;
    double l2_read_bytes = 0, l2_write_bytes = 0;  // what cores asked for, HBM misses included
    std::vector<std::pair<std::string, double>> region_read_bytes, region_write_bytes;  // by region name
    std::vector<CoreCounters> cores;
    std::vector<InstructionCount> instructions;
    std::vector<SyncSite> sync_sites;
    std::vector<TraceEvent> trace;
};

// Runs `kernel` once per core. Every pointer the kernel dereferences through a GlobalTensor must lie in a
// region.
SALS_SIM_API LaunchResult launch(const std::function<void()>& kernel, const std::vector<GmRegion>& regions,
                                 const LaunchOptions& options);

}  // namespace sals::sim
