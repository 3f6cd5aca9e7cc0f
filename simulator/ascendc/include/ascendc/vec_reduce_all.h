// SPDX-License-Identifier: Apache-2.0
// vec_reduce_all.h - ReduceSum, ReduceMax and ReduceMin of the first `count` elements. The vector unit
// reduces repeats, the scalar unit writes the result: afterwards it is there for the vector pipe, MTE3 and
// the scalar unit.
#pragma once
#include <memory>

#include "ascendc/vec_fill.h"
#include "ascendc/vec_reduce_api.h"

namespace AscendC {

namespace internal {

template <class T>
void put_by_scalar(const char* api, const LocalTensor<T>& dst, uint32_t index, T value, sim::Where where) {
    dst.SetValue(index, value, where);
    fence(HardEvent::S_V, api, where);
    fence(HardEvent::S_MTE3, api, where);
}

// Repeats one after the other, each as a tree.
template <class T>
T sum_of(const uint8_t* ub, const LanePlan& plan, const Operand& src) {
    T sum{};
    for (uint32_t repeat = 0; repeat < plan.all_repeats(); ++repeat) {
        auto lanes = load_repeat<T>(ub, plan, src, repeat);
        reduce_lanes(lanes.data(), lanes_of<T>(), 1, SumTree{});
        sum = repeat == 0 ? lanes[0].value : AddOp{}(sum, lanes[0].value);
    }
    return sum;
}

// The first pass leaves an extreme and its lane per repeat in `work`, the second looks at these.
template <class T, class Tree>
void reduce_extreme(const char* api, const char* pass, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                    const LocalTensor<T>& work, int32_t count, bool with_index, Tree tree, sim::Where where) {
    using Index = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    if (count <= 0) return;
    const uint32_t lanes = lanes_of<T>();
    const uint32_t repeats = (static_cast<uint32_t>(count) + lanes - 1) / lanes;
    whole_reduce_extreme(pass, work, src, Mask::count(count), 1, {1, 1, DEFAULT_REPEAT_STRIDE},
                         ReduceOrder::ORDER_VALUE_INDEX, tree, where);
    internal::pipe_barrier(PIPE_V, where);
    auto best = std::make_shared<Reduced<T>>();
    VectorCall call(pass, where);
    const Operand pairs = call.operand("sharedTmpBuffer", work, lanes);
    call.activate(LanePlan::of_count(lanes, uint64_t{repeats} * 2));
    call.reads(pairs);
    call.dispatch(sizeof(T), [core = call.core(), begin = pairs.begin, repeats, tree, best] {
        const uint8_t* at = core->memory(sim::Mem::UB).data.data() + begin;
        for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
            const uint32_t lane = repeat * lanes_of<T>() + load<Index>(at, 2 * repeat + 1);
            *best = tree(*best, Reduced<T>{load<T>(at, 2 * repeat), lane});
        }
    });
    call.core()->drain(sim::Pipe::V, where);
    if (!best->any()) return;
    if (with_index) {
        const LocalTensor<Index> indices = dst.template ReinterpretCast<Index>();
        indices.SetValue(1, static_cast<Index>(best->lane), where);
    }
    put_by_scalar(api, dst, 0, best->value, where);
}

}  // namespace internal

template <class T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, int32_t count,
               sim::Where where = sim::Where::here()) {
    using namespace internal;
    static_assert(is_one_of<T, half, float>, "ReduceSum takes half and float");
    VectorCall call("WholeReduceSum", where);
    const Operand s = call.operand("src", src, lanes_of<T>());
    call.activate(count_mask<isSetMask>(count), 1, lanes_of<T>());
    call.reads(s);
    if (!call.goes_on()) return;
    auto sum = std::make_shared<T>();
    call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), s, sum] {
        *sum = sum_of<T>(core->memory(sim::Mem::UB).data.data(), plan, s);
    });
    call.core()->drain(sim::Pipe::V, where);
    put_by_scalar("ReduceSum", dst, 0, *sum, where);
}

template <class T>
void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               int32_t count, bool calIndex = false, sim::Where where = sim::Where::here()) {
    internal::reduce_extreme("ReduceMax", "WholeReduceMax", dst, src, sharedTmpBuffer, count, calIndex,
                             internal::MaxTree{}, where);
}

template <class T>
void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               int32_t count, bool calIndex = false, sim::Where where = sim::Where::here()) {
    internal::reduce_extreme("ReduceMin", "WholeReduceMin", dst, src, sharedTmpBuffer, count, calIndex,
                             internal::MinTree{}, where);
}

}  // namespace AscendC
