// SPDX-License-Identifier: Apache-2.0
// move.h - how bytes travel: piece by piece between two spans, together with their taint, and into GM by the
// atomic operation that was set when the instruction was dispatched.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

#include "ascendc/atomic_mode.h"
#include "engine/core.h"

namespace AscendC::internal {

// Bytes and taint of one operand while an instruction executes; addresses are those of its spans.
class OperandView {
public:
    OperandView(sim::Core& core, sim::Mem mem, const sim::Span& span) {
        if (mem == sim::Mem::GM) {
            base_ = span.begin;
            data_ = reinterpret_cast<uint8_t*>(span.begin);
            taint_ = core.gm_taint(span.begin, span.end() - span.begin);
        } else {
            data_ = core.memory(mem).data.data();
            taint_ = core.memory(mem).taint.data();
        }
    }

    uint8_t* data(uint64_t address) const { return data_ + (address - base_); }
    // Null: GM whose bytes are all defined.
    uint8_t* taint(uint64_t address) const {
        return taint_ == nullptr ? nullptr : taint_ + (address - base_);
    }

    void set_taint(uint64_t address, uint64_t bytes, uint8_t value) const {
        if (taint_ != nullptr) std::memset(taint_ + (address - base_), value, bytes);
    }

private:
    uint64_t base_ = 0;
    uint8_t* data_ = nullptr;
    uint8_t* taint_ = nullptr;
};

inline void copy_bytes(const OperandView& dst, uint64_t to, const OperandView& src, uint64_t from,
                       uint64_t bytes) {
    std::memmove(dst.data(to), src.data(from), bytes);
    uint8_t* const dst_taint = dst.taint(to);
    if (dst_taint == nullptr) return;
    const uint8_t* const src_taint = src.taint(from);
    if (src_taint == nullptr) {
        std::memset(dst_taint, sim::DEFINED, bytes);
    } else {
        std::memmove(dst_taint, src_taint, bytes);
    }
}

// f(address in dst, address in src, bytes) for the pieces of two spans that have equally many of equal size.
template <class F>
void for_each_pair(const sim::Span& dst, const sim::Span& src, F&& f) {
    const int64_t bytes = dst.bytes;
    const bool dense = dst.stride[0] == bytes && src.stride[0] == bytes;
    const uint32_t inner = dense ? 1 : dst.count[0];
    const uint64_t piece = dense ? uint64_t{dst.bytes} * dst.count[0] : dst.bytes;
    for (uint32_t k = 0; k < dst.count[2]; ++k) {
        for (uint32_t j = 0; j < dst.count[1]; ++j) {
            const uint64_t to = dst.begin + k * dst.stride[2] + j * dst.stride[1];
            const uint64_t from = src.begin + k * src.stride[2] + j * src.stride[1];
            for (uint32_t i = 0; i < inner; ++i) f(to + i * dst.stride[0], from + i * src.stride[0], piece);
        }
    }
}

// One end of a move.
struct MoveEnd {
    sim::Mem mem;
    sim::Span span;
    bool past_l2 = false;
};

// Dispatches the copy of `src` to `dst`: equally many pieces of equal size.
inline void issue_copy(const char* name, sim::Pipe pipe, const MoveEnd& dst, const MoveEnd& src,
                       sim::Where where, sim::Work work = {}) {
    sim::Core* const core = &sim::Core::current();
    const AtomicMode atomic = dst.mem == sim::Mem::GM ? AtomicMode::current() : AtomicMode{};
    sim::Instruction instruction;
    instruction.name = name;
    instruction.pipe = pipe;
    instruction.where = where;
    instruction.work = work;
    instruction.atomic = atomic.on();
    instruction.accesses = {{src.mem, sim::Use::READ_MOVE, src.span, src.past_l2},
                            {dst.mem, sim::Use::WRITE_MOVE, dst.span, dst.past_l2}};
    instruction.run = [core, dst, src, atomic] {
        const OperandView to(*core, dst.mem, dst.span), from(*core, src.mem, src.span);
        for_each_pair(dst.span, src.span, [&](uint64_t d, uint64_t s, uint64_t bytes) {
            if (atomic.on()) {
                atomic.combine(to.data(d), to.taint(d), from.data(s), from.taint(s), bytes);
            } else {
                copy_bytes(to, d, from, s, bytes);
            }
        });
    };
    core->issue(std::move(instruction));
}

}  // namespace AscendC::internal
