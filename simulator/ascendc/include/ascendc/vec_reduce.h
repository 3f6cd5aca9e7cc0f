// SPDX-License-Identifier: Apache-2.0
// vec_reduce.h - one result per datablock, per pair or per repeat. Sums are binary trees over neighbouring
// lanes, each sum rounded to the type; of equal extremes the lowest lane counts; a NaN is the extreme of what
// it is in. Where no lane is active nothing is written.
#pragma once
#include <array>
#include <vector>

#include "ascendc/vec_arithmetic.h"

namespace AscendC {

namespace internal {

constexpr uint32_t NO_LANE = UINT32_MAX;

template <class T>
struct Reduced {
    T value{};
    uint32_t lane = NO_LANE;  // NO_LANE: nothing active
    bool any() const { return lane != NO_LANE; }
};

struct SumTree {
    template <class T>
    Reduced<T> operator()(const Reduced<T>& a, const Reduced<T>& b) const {
        if (!a.any() || !b.any()) return a.any() ? a : b;
        return {AddOp{}(a.value, b.value), a.lane};
    }
};
struct MaxTree {
    template <class T>
    Reduced<T> operator()(const Reduced<T>& a, const Reduced<T>& b) const {
        if (!a.any() || !b.any()) return a.any() ? a : b;
        return is_nan(a.value) || !(is_nan(b.value) || b.value > a.value) ? a : b;
    }
};
struct MinTree {
    template <class T>
    Reduced<T> operator()(const Reduced<T>& a, const Reduced<T>& b) const {
        if (!a.any() || !b.any()) return a.any() ? a : b;
        return is_nan(a.value) || !(is_nan(b.value) || b.value < a.value) ? a : b;
    }
};

// A repeat's lanes, then halves of them: neighbours are combined until `groups` results are left.
template <class T, class Tree>
void reduce_lanes(Reduced<T>* lanes, uint32_t count, uint32_t groups, Tree tree) {
    for (; count > groups; count /= 2) {
        for (uint32_t i = 0; i < count / 2; ++i) lanes[i] = tree(lanes[2 * i], lanes[2 * i + 1]);
    }
}

template <class T>
std::array<Reduced<T>, 128> load_repeat(const uint8_t* ub, const LanePlan& plan, const Operand& src,
                                        uint32_t repeat) {
    std::array<Reduced<T>, 128> lanes{};
    const auto add = [&](LaneRun run) {
        for (uint32_t lane = run.begin; lane < run.begin + run.count; ++lane) {
            lanes[lane] = {load<T>(ub + src.address(repeat, lane), 0), lane};
        }
    };
    if (repeat == plan.repeats) {
        add({0, plan.tail});
    } else {
        for (const LaneRun& run : plan.runs) add(run);
    }
    return lanes;
}

// Strides as kernels give them: int32_t, of which the hardware takes 16 bits.
struct ReduceStrides {
    U16 dst_repeat, src_block, src_repeat;
};

// Where results stand: `groups` of them side by side per repeat, each of `bytes`.
struct Results {
    uint64_t begin;
    uint64_t stride;  // bytes from repeat to repeat
    uint32_t groups;
    uint32_t bytes;

    ByteRange of(uint32_t repeat) const {
        const uint64_t at = begin + repeat * stride;
        return {at, at + uint64_t{groups} * bytes};
    }
};

// Runs of groups in which a lane is active.
inline std::vector<LaneRun> active_groups(const std::vector<LaneRun>& lanes, uint32_t lanes_per_group) {
    std::vector<LaneRun> groups;
    for (const LaneRun& run : lanes) {
        uint32_t first = run.begin / lanes_per_group;
        const uint32_t end = (run.begin + run.count - 1) / lanes_per_group + 1;
        if (!groups.empty() && groups.back().begin + groups.back().count >= first) {
            first = groups.back().begin;
            groups.pop_back();
        }
        groups.push_back({first, end - first});
    }
    return groups;
}

inline void describe_results(VectorCall& call, const Operand& src, const Results& results) {
    const LanePlan& plan = call.plan();
    if (result_overlap_is_unsafe(plan, src, [&](uint32_t repeat) { return results.of(repeat); })) {
        call.fail("dst overlaps what the same repeat or a later one reads from src");
    }
    const uint32_t repeats = results.stride == 0 && plan.repeats != 0 ? 1 : plan.repeats;
    const auto write = [&](const LaneRun& group, uint32_t first_repeat, uint32_t count) {
        const uint64_t at = results.of(first_repeat).begin + uint64_t{group.begin} * results.bytes;
        call.uses(sim::Use::WRITE, sim::Span::pieces(at, uint64_t{group.count} * results.bytes, count,
                                                     static_cast<int64_t>(results.stride)));
    };
    const uint32_t per_group = plan.lanes / results.groups;
    for (const LaneRun& group : active_groups(plan.runs, per_group)) write(group, 0, repeats);
    if (plan.tail != 0) write({0, (plan.tail - 1) / per_group + 1}, plan.repeats, 1);
}

// put(place, result, repeat) for every group with an active lane.
template <class T, class Tree, class Store>
void reduce_repeats(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Mask& mask,
                    U8 repeats, const ReduceStrides& strides, uint32_t groups, uint32_t result_bytes,
                    uint32_t alignment, Tree tree, sim::Where where, Store put) {
    static_assert(is_one_of<T, half, float>, "reductions take half and float");
    constexpr uint32_t lanes = lanes_of<T>();
    VectorCall call(name, where);
    call.check_place("dst", dst, alignment);
    strides.dst_repeat.check(call, "dstRepStride");
    const Operand s = call.operand("src", src, strides.src_block, strides.src_repeat);
    call.activate(mask, repeats, lanes);
    if (!call.goes_on()) return;
    const uint64_t stride = uint64_t{uint16_t{strides.dst_repeat}} * groups * result_bytes;
    const Results results{dst.sim_begin(), stride, groups, result_bytes};
    call.reads(s);
    describe_results(call, s, results);
    call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), s, results, tree, put] {
        uint8_t* ub = core->memory(sim::Mem::UB).data.data();
        for (uint32_t repeat = 0; repeat < plan.all_repeats(); ++repeat) {
            auto values = load_repeat<T>(ub, plan, s, repeat);
            reduce_lanes(values.data(), lanes, results.groups, tree);
            for (uint32_t group = 0; group < results.groups; ++group) {
                if (!values[group].any()) continue;
                put(ub + results.of(repeat).begin + uint64_t{group} * results.bytes, values[group], repeat);
            }
        }
    });
}

template <class T>
constexpr auto store_value =
    [](uint8_t* at, const Reduced<T>& result, uint32_t) { store<T>(at, 0, result.value); };

constexpr uint32_t BLOCKS = 8;

template <class T, class Tree>
void block_reduce(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Mask& mask,
                  U8 repeats, const ReduceStrides& strides, Tree tree, sim::Where where) {
    reduce_repeats(name, dst, src, mask, repeats, strides, BLOCKS, sizeof(T), BLOCKS * sizeof(T), tree, where,
                   store_value<T>);
}

template <class T>
void pair_reduce(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Mask& mask, U8 repeats,
                 const ReduceStrides& strides, sim::Where where) {
    reduce_repeats("PairReduceSum", dst, src, mask, repeats, strides, lanes_of<T>() / 2, sizeof(T),
                   ONE_BLK_SIZE, SumTree{}, where, store_value<T>);
}

template <class T>
void whole_reduce_sum(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                      const Mask& mask, U8 repeats, const ReduceStrides& strides, sim::Where where) {
    reduce_repeats(name, dst, src, mask, repeats, strides, 1, sizeof(T), sizeof(T), SumTree{}, where,
                   store_value<T>);
}

// The registers' extreme over the repeats of an instruction, and its place in all of their lanes.
template <class T, class Tree>
void keep_extreme(sim::Registers& registers, const Reduced<T>& of_repeat, uint32_t repeat, Tree tree) {
    Reduced<T> extreme{of_repeat.value, repeat * lanes_of<T>() + of_repeat.lane};
    if (repeat != 0) {
        T before;
        std::memcpy(&before, &registers.reduce_value, sizeof(T));
        extreme = tree(Reduced<T>{before, static_cast<uint32_t>(registers.reduce_index)}, extreme);
    }
    registers.reduce_value = 0;
    std::memcpy(&registers.reduce_value, &extreme.value, sizeof(T));
    registers.reduce_index = extreme.lane;
}

// The index is stored as the unsigned integer as wide as T, alone as uint32_t.
template <class T, class Tree>
void whole_reduce_extreme(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                          const Mask& mask, U8 repeats, const ReduceStrides& strides, ReduceOrder order,
                          Tree tree, sim::Where where) {
    using Index = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    const uint32_t size = order == ReduceOrder::ORDER_ONLY_VALUE   ? sizeof(T)
                          : order == ReduceOrder::ORDER_ONLY_INDEX ? sizeof(uint32_t)
                                                                   : 2 * sizeof(T);
    sim::Core* const core = &sim::Core::current();
    reduce_repeats(name, dst, src, mask, repeats, strides, 1, size, size, tree, where,
                   [order, tree, core](uint8_t* at, const Reduced<T>& result, uint32_t repeat) {
                       keep_extreme(core->registers(), result, repeat, tree);
                       const Index index = static_cast<Index>(result.lane);
                       if (order == ReduceOrder::ORDER_ONLY_INDEX) return store<uint32_t>(at, 0, result.lane);
                       if (order == ReduceOrder::ORDER_ONLY_VALUE) return store<T>(at, 0, result.value);
                       const bool index_first = order == ReduceOrder::ORDER_INDEX_VALUE;
                       store<T>(at, index_first ? 1 : 0, result.value);
                       store<Index>(at, index_first ? 0 : 1, index);
                   });
}

}  // namespace internal

}  // namespace AscendC
