// SPDX-License-Identifier: Apache-2.0
// sim_core.h - one core of the simulated chip: its queues, flags, clocks and data cache.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/core.h"
#include "engine/data_cache.h"
#include "engine/fiber.h"
#include "engine/gm.h"
#include "engine/pipe_queue.h"
#include "engine/shadow.h"

namespace sals::sim {

class Chip;

std::string event_name(Pipe src, Pipe dst, int id);  // "MTE2_V(3)"

inline constexpr int NUM_EVENT_IDS = 8;
inline constexpr int NUM_CROSS_CORE_IDS = 16;
inline constexpr size_t MAX_CROSS_CORE_SETS = 15;                         // of one flag, not waited for
inline constexpr uint8_t TILE_EMPTY = 0, TILE_IN_USE = 1, TILE_FULL = 2;  // L0C under unitFlag

struct EventFlag {
    bool set = false;
    int lost = 0;           // sets that came while it was set
    double time = 0;        // cycle of the set
    Clock clock;            // what the setting pipe knew
    Where where;            // of the set
    Where waited_at;        // of the last wait
    uint32_t consumed = 0;  // index of the last WaitFlag in the waiting pipe's queue
};

struct CrossCoreMessage {
    Snapshot snapshot;
    double time = 0;
    Where where;
};

// What a blocked scalar unit waits for.
struct Waiting {
    std::function<bool()> ready;  // null: not waiting
    std::string what;
    Where where;
};

class SimCore final : public Core {
public:
    struct Place {
        CoreKind kind;
        int index;  // among all cores of the chip
        int block_idx;
        int block_num;
        int sub_block_idx;
    };
    SimCore(Chip& chip, const Place& place, std::function<void()> kernel);

    // Core
    void issue(Instruction instruction) override;
    bool scalar_access(Mem mem, uint64_t begin, uint32_t bytes, bool write, Where where) override;
    void scalar_gm_read(uint64_t address, uint32_t bytes, void* value, Where where) override;
    void scalar_gm_write(uint64_t address, uint32_t bytes, const void* value, Where where) override;
    void preload(uint64_t address, Where where) override;
    void clean_and_invalidate(uint64_t address, bool whole, Where where) override;
    void scalar_cycles(double cycles) override { scalar_works(cycles); }
    void set_flag(Pipe src, Pipe dst, int id, Where where) override;
    void wait_flag(Pipe src, Pipe dst, int id, Where where) override;
    void pipe_barrier(Pipe pipe, Where where) override;
    void pipe_barrier_all(Where where) override;
    void cross_core_set(int mode, Pipe pipe, int id, Where where) override;
    void cross_core_wait(int id, Where where) override;
    void sync_all(bool aiv_only, Where where) override;
    void drain(Pipe pipe, Where where) override;
    void settle(Pipe pipe, Where where) override;
    void report(Check check, Where where, std::string text) override;
    uint8_t* gm_taint(uint64_t address, uint64_t bytes) override;

    // The scheduler's side
    int index() const { return index_; }
    std::string name() const;
    PipeState& pipe(Pipe p) { return pipes_[static_cast<int>(p)]; }
    bool head_ready(Pipe p);
    double head_time(Pipe p);   // cycle before which a ready head cannot start
    Item execute_head(Pipe p);  // head_ready must hold
    bool runnable() const { return !fiber_.finished() && (!waiting_.ready || waiting_.ready()); }
    void resume(double now);
    bool finished() const { return fiber_.finished(); }
    bool idle() const;
    const Waiting& waiting() const { return waiting_; }
    double& scalar_time() { return scalar_time_; }
    double scalar_busy() const { return scalar_busy_; }
    void yield() { fiber_.pause(); }
    void deliver(int id, CrossCoreMessage message);
    void end_of_kernel();
    std::string describe_blocked() const;
    Where first_blocked_at() const;

private:
    void scalar_works(double cycles) {
        scalar_time_ += cycles;
        scalar_busy_ += cycles;
    }
    struct Record {
        const char* name;
        Where where;
    };
    friend class Chip;

    Clock& clock(Pipe p) { return pipe(p).clock; }
    uint16_t thread_of(Pipe p) const {
        return static_cast<uint16_t>(index_ * NUM_PIPES + static_cast<int>(p));
    }
    EventFlag& flag(Pipe src, Pipe dst, int id) {
        return flags_[static_cast<int>(src)][static_cast<int>(dst)][id];
    }
    Item make_item(Item::Kind kind, Pipe pipe, Where where, const char* name);
    void enqueue(Pipe pipe, Item item);
    uint32_t next_scalar_index(const char* name, Where where);
    void wait_until(std::function<bool()> ready, std::string what, Where where);
    bool check_bounds(const Instruction& instruction);
    bool check_event_id(int id, Where where);
    void raise_flag(Pipe src, Pipe dst, int id, const Clock& known, Where where, double time);
    void lower_flag(Pipe src, Pipe dst, int id, uint32_t index, Clock& into, Where where);
    void send(Pipe pipe, int mode, int id, const Clock& known, Where where);
    Snapshot snapshot_of(const Clock& clock) const;
    void learn(const Snapshot& news);  // the scalar unit waited for other cores

    void check_access(const Access& access, const Item& item, Pipe p);
    void check_local(const Access& access, const Item& item, Pipe p);
    void check_gm(const Access& access, const Item& item, Pipe p, const Clock& known);
    void check_defined(const Access& access, const Item& item);
    void define(const Access& access, const Item& item);
    void report_race(const Where& where, const char* name, Mem mem, uint64_t address, bool writes,
                     const Record& earlier, const std::string& earlier_core, bool earlier_wrote, Pipe p,
                     Pipe earlier_pipe, bool same_core);
    GmConflict gm_access(Region& region, const Access& access, const Item& item, Pipe p, const Clock& known);
    bool knows(const Clock& clock, const GmParty& party) const;
    PairRule rule_of(const Instruction& instruction, Pipe p, Mem mem) const;

    bool unit_ready(const Instruction& instruction) const;
    void unit_pass(const Instruction& instruction, const Item& item, Pipe p);
    bool check_alignment(const char* instruction, uint64_t address, uint32_t bytes, Where where);
    bool written_since_fetch(const DataCache::Line& line, Region& region, const Span& bytes, bool ordered);
    void check_cached(const DataCache::Line& line, Region& region, const Span& bytes, const Item& item);
    void count_read(uint64_t address, Where where);
    DataCache::Line& cached_line(uint64_t address, Where where);
    DataCache::Line& fetch_line(uint64_t address, Where where);
    void write_back(uint64_t address, Where where);

    Chip& chip_;
    int index_;
    PipeState pipes_[NUM_PIPES];
    std::vector<Record> records_[NUM_PIPES];  // by item index - 1
    EventFlag flags_[NUM_PIPES][NUM_PIPES][NUM_EVENT_IDS];
    std::map<int, std::deque<CrossCoreMessage>> sent_;           // on their way, by id * NUM_PIPES + pipe
    std::deque<CrossCoreMessage> messages_[NUM_CROSS_CORE_IDS];  // arrived
    std::vector<uint32_t> waits_[NUM_CROSS_CORE_IDS];            // scalar index of every wait
    size_t sets_[NUM_CROSS_CORE_IDS] = {};
    int cross_core_mode_[NUM_CROSS_CORE_IDS];
    Shadow shadows_[NUM_LOCAL_MEMS];
    std::vector<std::shared_ptr<const Snapshot>> snapshots_;
    struct UnitTile {  // 512 bytes of L0C under unitFlag
        uint8_t state = TILE_EMPTY;
        Clock clock;
        Where where;  // of the instruction that left it so
    };
    std::vector<UnitTile> unit_tiles_;
    DataCache cache_;
    Waiting waiting_;
    double scalar_time_ = 0;
    double scalar_busy_ = 0;  // of it, not waiting
    int polls_ = 0;           // of GM, by invalidating the cache
    int reads_in_a_row_ = 0;  // of one place, with nothing in between
    uint64_t last_read_ = 0;
    Fiber fiber_;
};

}  // namespace sals::sim
