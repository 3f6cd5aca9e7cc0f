// SPDX-License-Identifier: Apache-2.0
// vec_lanes.h - where the active lanes of a vector instruction lie in memory: as spans for the checks, and
// piece by piece for the arithmetic. A piece is as long as all operands stay contiguous: with full masks and
// unit strides the whole instruction is one piece.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "ascendc/types.h"
#include "engine/core.h"

namespace AscendC::internal {

// Neighbouring active lanes of a repeat.
struct LaneRun {
    uint32_t begin;
    uint32_t count;
};

// Active lanes: `runs` in each of `repeats` repeats, then the first `tail` lanes of one more.
struct LanePlan {
    uint32_t lanes = 0;  // of a repeat
    uint32_t repeats = 0;
    uint32_t tail = 0;
    std::vector<LaneRun> runs;

    static LanePlan of_count(uint32_t lanes, uint64_t count) {
        LanePlan plan;
        plan.lanes = lanes;
        plan.repeats = static_cast<uint32_t>(std::min<uint64_t>(count / lanes, UINT32_MAX));
        plan.tail = static_cast<uint32_t>(count % lanes);
        plan.runs = {{0, lanes}};
        return plan;
    }

    static LanePlan of_bits(uint32_t lanes, uint32_t repeats, const uint64_t bits[2]) {
        LanePlan plan;
        plan.lanes = lanes;
        plan.repeats = repeats;
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            const bool active = lane < 128 && (bits[lane / 64] >> (lane % 64) & 1) != 0;
            if (!active) continue;
            if (!plan.runs.empty() && plan.runs.back().begin + plan.runs.back().count == lane) {
                ++plan.runs.back().count;
            } else {
                plan.runs.push_back({lane, 1});
            }
        }
        return plan;
    }

    // The registers' mask, as an instruction with `repeats` repeats takes it.
    static LanePlan of_registers(uint32_t lanes, uint32_t repeats, const sim::Registers& registers) {
        if (registers.mask_counter_mode) return of_count(lanes, registers.mask[0]);
        if (registers.mask[0] == FULL && (lanes <= 64 || registers.mask[1] == FULL)) {
            return of_count(lanes, uint64_t{lanes} * repeats);
        }
        return of_bits(lanes, repeats, registers.mask);
    }

    bool empty() const { return (repeats == 0 || runs.empty()) && tail == 0; }
    bool full() const { return runs.size() == 1 && runs[0].count == lanes; }
    uint32_t all_repeats() const { return repeats + (tail != 0 ? 1 : 0); }
    uint32_t last_lane() const {  // of any repeat, one past
        return std::max(repeats == 0 || runs.empty() ? 0 : runs.back().begin + runs.back().count, tail);
    }

private:
    static constexpr uint64_t FULL = ~0ULL;
};

// An operand in UB. `bits` of an element are 4 for int4b_t. Strides are in bytes.
struct Operand {
    uint64_t begin = 0;
    uint32_t bits = 32;
    uint64_t block_stride = ONE_BLK_SIZE;
    uint64_t repeat_stride = ONE_REPEAT_BYTE_SIZE;

    uint32_t lanes_per_block() const { return ONE_BLK_SIZE * 8 / bits; }
    bool dense_in_repeat() const { return block_stride == ONE_BLK_SIZE; }
    bool dense(uint32_t lanes) const {
        return dense_in_repeat() && repeat_stride == uint64_t{lanes} * bits / 8;
    }
    uint64_t address(uint64_t repeat, uint32_t lane) const {
        const uint32_t per_block = lanes_per_block();
        return begin + repeat * repeat_stride + (lane / per_block) * block_stride +
               (lane % per_block) * bits / 8;
    }
    // How many lanes from `lane` on lie side by side.
    uint32_t contiguous(uint32_t lane) const {
        return dense_in_repeat() ? UINT32_MAX : lanes_per_block() - lane % lanes_per_block();
    }
};

// One access per group of equal pieces: whole datablocks, and the parts of datablocks at the ends of a run.
class SpanBuilder {
public:
    SpanBuilder(std::vector<sim::Access>& accesses, sim::Use use, const Operand& operand)
        : accesses_(accesses), use_(use), operand_(operand) {}

    void add(const LanePlan& plan) {
        if (plan.full() && operand_.dense(plan.lanes)) {
            const uint64_t elements = uint64_t{plan.repeats} * plan.lanes + plan.tail;
            push(sim::Span::run(operand_.begin, bytes_of(0, elements)));
            return;
        }
        if (plan.repeats != 0) {
            for (const LaneRun& run : plan.runs) add_run(run, 0, plan.repeats);
        }
        if (plan.tail != 0) add_run({0, plan.tail}, plan.repeats, 1);
    }

private:
    // Bytes that lanes [lane, lane + count) touch; int4 lanes may share one.
    uint64_t bytes_of(uint64_t lane, uint64_t count) const {
        return (lane % 2 * operand_.bits % 8 + count * operand_.bits + 7) / 8;
    }

    void add_run(LaneRun run, uint32_t first_repeat, uint32_t repeats) {
        if (operand_.dense_in_repeat()) {
            add_piece(run, first_repeat, repeats, 1);
            return;
        }
        const uint32_t per_block = operand_.lanes_per_block();
        while (run.count != 0) {
            const uint32_t piece = std::min(run.count, operand_.contiguous(run.begin));
            const uint32_t blocks = piece == per_block ? run.count / per_block : 1;
            add_piece({run.begin, piece}, first_repeat, repeats, blocks);
            run.begin += piece * blocks;
            run.count -= piece * blocks;
        }
    }

    void add_piece(LaneRun piece, uint32_t first_repeat, uint32_t repeats, uint32_t blocks) {
        sim::Span span =
            sim::Span::run(operand_.address(first_repeat, piece.begin), bytes_of(piece.begin, piece.count));
        if (operand_.block_stride != 0) {
            span.count[0] = blocks;
            span.stride[0] = static_cast<int64_t>(operand_.block_stride);
        }
        if (operand_.repeat_stride != 0) {
            span.count[1] = repeats;
            span.stride[1] = static_cast<int64_t>(operand_.repeat_stride);
        }
        push(span);
    }

    void push(const sim::Span& span) { accesses_.push_back({sim::Mem::UB, use_, span}); }

    std::vector<sim::Access>& accesses_;
    sim::Use use_;
    const Operand& operand_;
};

// map(operand) for every operand.
template <size_t N, class Map, size_t... I>
auto map_operands(const std::array<Operand, N>& operands, Map&& map, std::index_sequence<I...>) {
    return std::array{map(operands[I])...};
}

template <size_t N, class Map>
auto map_operands(const std::array<Operand, N>& operands, Map&& map) {
    return map_operands(operands, map, std::make_index_sequence<N>());
}

// GCC 12 takes the walks below for functions without effects when what they call is large, and leaves them
// out.
inline void keep_effects() { asm volatile("" : : : "memory"); }

// f(addresses of the first lane in every operand, lane, count) for every piece, in the order of the lanes.
template <size_t N, class F>
void for_each_piece(const LanePlan& plan, const std::array<Operand, N>& operands, F&& f) {
    keep_effects();
    bool dense = plan.full();
    for (const Operand& operand : operands) dense = dense && operand.dense(plan.lanes);
    if (dense) {
        const auto at = map_operands(operands, [](const Operand& operand) { return operand.begin; });
        f(at, 0u, plan.repeats * plan.lanes + plan.tail);
        return;
    }
    const auto walk = [&](uint32_t repeat, LaneRun run) {
        while (run.count != 0) {
            uint32_t piece = run.count;
            for (const Operand& operand : operands) piece = std::min(piece, operand.contiguous(run.begin));
            const auto place = [&](const Operand& operand) { return operand.address(repeat, run.begin); };
            f(map_operands(operands, place), run.begin, piece);
            run.begin += piece;
            run.count -= piece;
        }
    };
    for (uint32_t repeat = 0; repeat < plan.repeats; ++repeat) {
        for (const LaneRun& run : plan.runs) walk(repeat, run);
    }
    if (plan.tail != 0) walk(plan.repeats, {0, plan.tail});
}

// f(addresses, repeat, lane) for every active lane.
template <size_t N, class F>
void for_each_lane(const LanePlan& plan, const std::array<Operand, N>& operands, F&& f) {
    keep_effects();
    const auto walk = [&](uint32_t repeat, LaneRun run) {
        for (uint32_t lane = run.begin; lane < run.begin + run.count; ++lane) {
            const auto place = [&](const Operand& operand) { return operand.address(repeat, lane); };
            f(map_operands(operands, place), repeat, lane);
        }
    };
    for (uint32_t repeat = 0; repeat < plan.repeats; ++repeat) {
        for (const LaneRun& run : plan.runs) walk(repeat, run);
    }
    if (plan.tail != 0) walk(plan.repeats, {0, plan.tail});
}

}  // namespace AscendC::internal
