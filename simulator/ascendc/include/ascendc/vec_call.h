// SPDX-License-Identifier: Apache-2.0
// vec_call.h - from the arguments of a vector function to an instruction: checks, active lanes, accesses,
// dispatch.
#pragma once
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "ascendc/call_check.h"
#include "ascendc/field.h"
#include "ascendc/local_tensor.h"
#include "ascendc/vec_lanes.h"
#include "ascendc/vec_mask.h"
#include "ascendc/vec_overlap.h"
#include "ascendc/vec_params.h"

namespace AscendC::internal {

template <class T>
constexpr uint32_t bits_of() {
    return std::is_same_v<T, int4b_t> ? 4 : 8 * sizeof(T);
}

template <class T>
constexpr uint32_t lanes_of() {
    return ONE_REPEAT_BYTE_SIZE * 8 / bits_of<T>();
}

// Elements in UB, whatever type the bytes had before.
template <class T>
T load(const uint8_t* bytes, uint64_t index) {
    T value;
    std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
    return value;
}

template <class T>
void store(uint8_t* bytes, uint64_t index, T value) {
    std::memcpy(bytes + index * sizeof(T), &value, sizeof(T));
}

class VectorCall : public CallCheck {
public:
    VectorCall(const char* name, sim::Where where)
        : CallCheck(name, where), core_(&sim::Core::current()), name_(name), where_(where) {
        on_core_with(sim::Mem::UB);
    }

    // An operand with strides in datablocks. Its start must be a multiple of `alignment` bytes.
    template <class T, class BlockStride, class RepeatStride>
    Operand operand(const char* name, const LocalTensor<T>& tensor, BlockStride block, RepeatStride repeat,
                    uint32_t alignment = ONE_BLK_SIZE) {
        check_place(name, tensor, alignment);
        block.check(*this, (std::string(name) + "BlkStride").c_str());
        repeat.check(*this, (std::string(name) + "RepStride").c_str());
        return {tensor.sim_begin(), bits_of<T>(), uint64_t{block} * ONE_BLK_SIZE,
                uint64_t{repeat} * ONE_BLK_SIZE};
    }

    // An operand without gaps, `lanes` of it per repeat.
    template <class T>
    Operand operand(const char* name, const LocalTensor<T>& tensor, uint32_t lanes) {
        check_place(name, tensor, ONE_BLK_SIZE);
        return {tensor.sim_begin(), bits_of<T>(), ONE_BLK_SIZE, uint64_t{lanes} * bits_of<T>() / 8};
    }

    template <class T>
    void check_place(const char* name, const LocalTensor<T>& tensor, uint32_t alignment) {
        in_memory(name, tensor.sim_mem(), {sim::Mem::UB});
        aligned(name, sim::Mem::UB, tensor.sim_begin(), alignment);
    }

    // Sets the mask registers as the call asks for and takes the active lanes from them.
    void activate(const Mask& mask, U8 repeats, uint32_t lanes) {
        repeats.check(*this, "repeatTime");
        mask.set(*this);
        const sim::Registers& registers = core_->registers();
        if (ok() && registers.mask_counter_mode) {
            range("the number of elements in counter mode", registers.mask[0], 0, MAX_ELEMENTS);
        }
        if (ok()) plan_ = LanePlan::of_registers(lanes, uint8_t{repeats}, registers);
        mask.unset();
    }

    void activate(LanePlan plan) { plan_ = std::move(plan); }

    const LanePlan& plan() const { return plan_; }
    sim::Core* core() const { return core_; }

    // False: the call broke a rule, or no lane is active and nothing happens.
    bool goes_on() const { return ok() && !plan_.empty(); }

    void reads(const Operand& operand) { add(sim::Use::READ, operand); }
    void uses(sim::Use use, const Operand& operand) { add(use, operand); }
    void uses(sim::Use use, const sim::Span& span) {
        if (!span.empty()) accesses_.push_back({sim::Mem::UB, use, span});
    }

    void writes(const Operand& operand) {
        if (operand.block_stride == 0 && plan_.last_lane() > operand.lanes_per_block()) {
            fail("dstBlkStride is 0, which is undefined for more than one datablock per repeat");
        }
        add(sim::Use::WRITE, operand);
    }

    void may_overlap(const Operand& dst, const char* name, const Operand& src, bool in_place = false) {
        if (!goes_on() || !overlap_is_unsafe(plan_, dst, src, in_place)) return;
        fail(std::string("dst and ") + name +
             " overlap in UB so that a repeat reads what an earlier one writes, or only part of what it "
             "writes "
             "itself. Let them coincide or be apart.");
    }

    // For instructions that allow no overlap at all.
    void apart(const char* a_name, ByteRange a, const char* b_name, ByteRange b) {
        if (!a.meets(b)) return;
        fail(std::string(a_name) + " [" + std::to_string(a.begin) + ", " + std::to_string(a.end) + ") and " +
             b_name + " [" + std::to_string(b.begin) + ", " + std::to_string(b.end) + ") overlap in UB");
    }
    ByteRange range_of(const Operand& operand) const {
        return {box_of(plan_, operand, 0).begin, box_of(plan_, operand, plan_.all_repeats() - 1).end};
    }

    template <class Run>
    void dispatch(uint32_t elem_bytes, Run run) {
        if (!ok()) return;
        sim::Instruction instruction;
        instruction.pipe = sim::Pipe::V;
        instruction.name = name_;
        instruction.where = where_;
        instruction.accesses = std::move(accesses_);
        instruction.work.elements = uint64_t{plan_.all_repeats()} * plan_.lanes;
        instruction.work.repeats = plan_.all_repeats();
        instruction.work.elem_bytes = static_cast<uint8_t>(elem_bytes);
        instruction.run = std::move(run);
        core_->issue(std::move(instruction));
    }

    // body(UB, places of the operands in it, first lane, count) for every piece.
    template <size_t N, class Body>
    void dispatch_pieces(uint32_t elem_bytes, const std::array<Operand, N>& operands, Body body) {
        if (!goes_on()) return;
        dispatch(elem_bytes, [core = core_, plan = plan_, operands, body] {
            uint8_t* ub = core->memory(sim::Mem::UB).data.data();
            for_each_piece(plan, operands,
                           [&](const std::array<uint64_t, N>& at, uint32_t lane, uint32_t count) {
                               body(ub, at, lane, count);
                               keep_effects();
                           });
        });
    }

private:
    static constexpr uint64_t MAX_ELEMENTS = 1 << 20;  // more than UB holds of any type

    void add(sim::Use use, const Operand& operand) {
        if (goes_on()) SpanBuilder(accesses_, use, operand).add(plan_);
    }

    sim::Core* core_;
    const char* name_;
    sim::Where where_;
    LanePlan plan_;
    std::vector<sim::Access> accesses_;
};

}  // namespace AscendC::internal
