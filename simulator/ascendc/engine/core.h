// SPDX-License-Identifier: Apache-2.0
// core.h - the core that is executing, as the Ascend C functions see it: its memories, its state and the
// doors to the engine. A kernel function runs on the scalar unit; everything else is dispatched with issue().
#pragma once
#include <cstdint>
#include <string>

#include "engine/instruction.h"
#include "engine/memory.h"
#include "engine/types.h"

namespace sals::sim {

// State that stays until it is set again. Its values at kernel entry are random: a kernel must set what it
// uses.
struct Registers {
    bool mask_counter_mode = false;                             // SetMaskCount / SetMaskNorm
    uint64_t mask[2] = {~0ULL, ~0ULL};                          // SetVectorMask, low and high
    int atomic_op = 0;                                          // 0 none, 1 add, 2 max, 3 min
    int atomic_type = 0;                                        // a DataType of the Ascend C layer
    uint16_t nd_num = 1, nd_src_stride = 0, nd_dst_stride = 0;  // SetFixpipeNz2ndFlag
    uint64_t deq_scalar = 0;                                    // SetDeqScale
    uint64_t pad_value = 0;                                     // SetPadValue
    bool pad_value_set = false;                                 // until then padding is undefined
    uint64_t quant_pre = 0;                                     // SetFixpipePreQuantFlag
    uint64_t quant_tensor = 0;                                  // SetFixPipeConfig, offset in FB
    uint64_t gather_mask_count = 0;                             // GetGatherMaskRemainCount
    uint64_t reduce_value = 0, reduce_index = 0;                // GetReduceMaxMinCount
    uint64_t acc_value = 0;                                     // GetAccVal
    uint16_t merged[4] = {};                                    // GetMrgSortResult
};

class SALS_SIM_API Core {
public:
    virtual ~Core() = default;
    static Core& current();  // the core whose kernel function is running

    CoreKind kind() const { return kind_; }
    int block_idx() const { return block_idx_; }          // AIC: 0..N-1, AIV: 0..2N-1
    int block_num() const { return block_num_; }          // N
    int sub_block_idx() const { return sub_block_idx_; }  // AIV: 0 or 1, AIC: 0
    int sub_block_num() const { return 2; }

    Memory& memory(Mem mem) { return memories_[static_cast<int>(mem)]; }  // not GM
    Registers& registers() { return registers_; }

    // Dispatch to a pipe (not S). Bounds are checked now, races when it executes, in some legal order.
    virtual void issue(Instruction instruction) = 0;

    // Access by the scalar unit, executed at once: checks bounds, races and taint and charges the time; the
    // caller then reads or writes the bytes itself. False: the access was refused (a finding), don't do it.
    virtual bool scalar_access(Mem mem, uint64_t begin, uint32_t bytes, bool write, Where where) = 0;

    // Scalar access to GM through the core's data cache.
    virtual void scalar_gm_read(uint64_t address, uint32_t bytes, void* value, Where where) = 0;
    virtual void scalar_gm_write(uint64_t address, uint32_t bytes, const void* value, Where where) = 0;
    // Fetch the line of `address` while the scalar unit goes on.
    virtual void preload(uint64_t address, Where where) = 0;
    // Write dirty lines back and drop them: the line of `address`, or all (whole = true).
    virtual void clean_and_invalidate(uint64_t address, bool whole, Where where) = 0;

    // Charge the scalar unit for arithmetic that is not otherwise visible.
    virtual void scalar_cycles(double cycles) = 0;

    virtual void set_flag(Pipe src, Pipe dst, int id, Where where) = 0;
    virtual void wait_flag(Pipe src, Pipe dst, int id, Where where) = 0;
    virtual void pipe_barrier(Pipe pipe, Where where) = 0;
    virtual void pipe_barrier_all(Where where) = 0;
    virtual void cross_core_set(int mode, Pipe pipe, int id, Where where) = 0;
    virtual void cross_core_wait(int id, Where where) = 0;
    virtual void sync_all(bool aiv_only, Where where) = 0;

    // Wait until everything dispatched to `pipe` has executed and its results are visible to the scalar unit,
    // as instructions that return a value at once do (GatherMask with its count, GetReduceMaxMinCount).
    virtual void drain(Pipe pipe, Where where) = 0;
    // Wait in the same way for the simulator's own needs: costs nothing and orders nothing, so that a race
    // with what was waited for is still one.
    virtual void settle(Pipe pipe, Where where) = 0;

    virtual void report(Check check, Where where, std::string text) = 0;

    // Taint of GM bytes (workspace and outputs; inputs are defined). Used by the moves of `run` functions.
    virtual uint8_t* gm_taint(uint64_t address, uint64_t bytes) = 0;  // null: untracked, all defined

protected:
    CoreKind kind_ = CoreKind::AIV;
    int block_idx_ = 0, block_num_ = 1, sub_block_idx_ = 0;
    Memory memories_[NUM_LOCAL_MEMS];
    Registers registers_;
};

}  // namespace sals::sim
