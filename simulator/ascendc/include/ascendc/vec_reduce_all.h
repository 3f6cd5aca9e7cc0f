// SPDX-License-Identifier: Apache-2.0
// vec_reduce_all.h - ReduceSum, ReduceMax and ReduceMin of the first `count` elements or of the active lanes
// of repeats. The vector unit reduces repeats, the scalar unit writes the result: afterwards it is there for
// the vector pipe, MTE3 and the scalar unit.
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

// Which elements are reduced: `repeats` of them, `stride` datablocks apart, with the lanes of the mask.
struct ReducedPart {
    Mask mask;
    uint32_t repeats;
    U16 stride;

    static ReducedPart count(const Mask& mask) { return {mask, 1, DEFAULT_REPEAT_STRIDE}; }
};

// A part with lanes to reduce. The forms with masks count repeats beyond what an instruction can do.
inline bool check_part(const char* api, const ReducedPart& part, int32_t repeats, sim::Where where) {
    CallCheck check(api, where);
    part.stride.check(check, "srcRepStride");
    if (repeats < 0) check.fail("repeatTime is negative: " + std::to_string(repeats));
    if (sim::Core::current().registers().mask_counter_mode)
        check.fail("the form with a mask is not defined in counter mode: call SetMaskNorm before");
    return check.ok() && repeats != 0;
}

template <class T>
void reduce_sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const ReducedPart& part,
                sim::Where where) {
    static_assert(is_one_of<T, half, float>, "ReduceSum takes half and float");
    constexpr uint32_t MOST = MAX_REPEAT_TIMES;
    const uint32_t step = uint32_t{part.stride} * (ONE_BLK_SIZE / sizeof(T));
    auto sum = std::make_shared<T>();
    for (uint32_t done = 0; done < part.repeats; done += MOST) {
        VectorCall call("WholeReduceSum", where);
        const Operand s = call.operand("src", src[done * step], U16(DEFAULT_BLK_STRIDE), part.stride);
        call.activate(part.mask, std::min(MOST, part.repeats - done), lanes_of<T>());
        call.reads(s);
        if (!call.goes_on()) return;
        call.dispatch(sizeof(T), [core = call.core(), plan = call.plan(), s, sum, first = done == 0] {
            const T more = sum_of<T>(core->memory(sim::Mem::UB).data.data(), plan, s);
            *sum = first ? more : AddOp{}(*sum, more);
            core->registers().acc_value = 0;
            std::memcpy(&core->registers().acc_value, sum.get(), sizeof(T));
        });
    }
    sim::Core::current().drain(sim::Pipe::V, where);
    put_by_scalar("ReduceSum", dst, 0, *sum, where);
}

// The second pass of an extreme: the best of `pairs` values with their lanes, one pair per repeat.
template <class T, class Tree>
Reduced<T> best_of_pairs(const char* pass, const LocalTensor<T>& work, uint32_t pairs, Tree tree,
                         sim::Where where) {
    using Index = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    auto best = std::make_shared<Reduced<T>>();
    VectorCall call(pass, where);
    const Operand operand = call.operand("sharedTmpBuffer", work, lanes_of<T>());
    call.activate(LanePlan::of_count(lanes_of<T>(), uint64_t{pairs} * 2));
    call.reads(operand);
    call.dispatch(sizeof(T), [core = call.core(), begin = operand.begin, pairs, tree, best] {
        const uint8_t* at = core->memory(sim::Mem::UB).data.data() + begin;
        for (uint32_t repeat = 0; repeat < pairs; ++repeat) {
            const uint32_t lane = repeat * lanes_of<T>() + load<Index>(at, 2 * repeat + 1);
            *best = tree(*best, Reduced<T>{load<T>(at, 2 * repeat), lane});
        }
    });
    call.core()->drain(sim::Pipe::V, where);
    return *best;
}

// The first pass leaves an extreme and its lane per repeat in `work`, the second looks at these.
template <class T, class Tree>
void reduce_extreme(const char* api, const char* pass, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                    const LocalTensor<T>& work, const ReducedPart& part, uint32_t pairs, bool with_index,
                    Tree tree, sim::Where where) {
    using Index = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    constexpr uint32_t MOST = MAX_REPEAT_TIMES;
    const uint32_t step = uint32_t{part.stride} * (ONE_BLK_SIZE / sizeof(T));
    for (uint32_t done = 0; done < part.repeats; done += MOST) {
        whole_reduce_extreme(pass, work[2 * done], src[done * step], part.mask,
                             std::min(MOST, part.repeats - done), {1, 1, part.stride},
                             ReduceOrder::ORDER_VALUE_INDEX, tree, where);
    }
    internal::pipe_barrier(PIPE_V, where);
    const Reduced<T> best = best_of_pairs(pass, work, pairs, tree, where);
    if (!best.any()) return;
    if (with_index) {
        const LocalTensor<Index> indices = dst.template ReinterpretCast<Index>();
        indices.SetValue(1, static_cast<Index>(best.lane), where);
    }
    put_by_scalar(api, dst, 0, best.value, where);
}

template <class T, class Tree>
void reduce_extreme_of_count(const char* api, const char* pass, const LocalTensor<T>& dst,
                             const LocalTensor<T>& src, const LocalTensor<T>& work, int32_t count,
                             bool with_index, Tree tree, sim::Where where) {
    if (count <= 0) return;
    const uint32_t elements = static_cast<uint32_t>(count);
    const uint32_t pairs = (elements + lanes_of<T>() - 1) / lanes_of<T>();
    reduce_extreme(api, pass, dst, src, work, ReducedPart::count(Mask::count(elements)), pairs, with_index,
                   tree, where);
}

template <class T, class Tree>
void reduce_extreme_of_repeats(const char* api, const char* pass, const LocalTensor<T>& dst,
                               const LocalTensor<T>& src, const LocalTensor<T>& work, const Mask& mask,
                               int32_t repeats, int32_t stride, bool with_index, Tree tree,
                               sim::Where where) {
    const ReducedPart part{mask, static_cast<uint32_t>(repeats), stride};
    if (!check_part(api, part, repeats, where)) return;
    reduce_extreme(api, pass, dst, src, work, part, part.repeats, with_index, tree, where);
}

}  // namespace internal

template <class T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, int32_t count,
               sim::Where where = sim::Where::here()) {
    internal::reduce_sum(dst, src, internal::ReducedPart::count(internal::count_mask<isSetMask>(count)),
                         where);
}

template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&,
               const uint64_t mask[], int32_t repeatTime, int32_t srcRepStride,
               sim::Where where = sim::Where::here()) {
    const internal::ReducedPart part{internal::bits_mask<T, true>(mask), static_cast<uint32_t>(repeatTime),
                                     srcRepStride};
    if (internal::check_part("ReduceSum", part, repeatTime, where))
        internal::reduce_sum(dst, src, part, where);
}

template <class T>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, int32_t mask,
               int32_t repeatTime, int32_t srcRepStride, sim::Where where = sim::Where::here()) {
    const internal::ReducedPart part{internal::lanes_mask<true>(static_cast<uint64_t>(mask)),
                                     static_cast<uint32_t>(repeatTime), srcRepStride};
    if (internal::check_part("ReduceSum", part, repeatTime, where))
        internal::reduce_sum(dst, src, part, where);
}

template <class T>
void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               int32_t count, bool calIndex = false, sim::Where where = sim::Where::here()) {
    internal::reduce_extreme_of_count("ReduceMax", "WholeReduceMax", dst, src, sharedTmpBuffer, count,
                                      calIndex, internal::MaxTree{}, where);
}

template <class T>
void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               const uint64_t mask[], int32_t repeatTime, int32_t srcRepStride, bool calIndex = false,
               sim::Where where = sim::Where::here()) {
    internal::reduce_extreme_of_repeats("ReduceMax", "WholeReduceMax", dst, src, sharedTmpBuffer,
                                        internal::bits_mask<T, true>(mask), repeatTime, srcRepStride,
                                        calIndex, internal::MaxTree{}, where);
}

template <class T>
void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               int32_t mask, int32_t repeatTime, int32_t srcRepStride, bool calIndex = false,
               sim::Where where = sim::Where::here()) {
    internal::reduce_extreme_of_repeats("ReduceMax", "WholeReduceMax", dst, src, sharedTmpBuffer,
                                        internal::lanes_mask<true>(static_cast<uint64_t>(mask)), repeatTime,
                                        srcRepStride, calIndex, internal::MaxTree{}, where);
}

template <class T>
void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               int32_t count, bool calIndex = false, sim::Where where = sim::Where::here()) {
    internal::reduce_extreme_of_count("ReduceMin", "WholeReduceMin", dst, src, sharedTmpBuffer, count,
                                      calIndex, internal::MinTree{}, where);
}

template <class T>
void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               const uint64_t mask[], int32_t repeatTime, int32_t srcRepStride, bool calIndex = false,
               sim::Where where = sim::Where::here()) {
    internal::reduce_extreme_of_repeats("ReduceMin", "WholeReduceMin", dst, src, sharedTmpBuffer,
                                        internal::bits_mask<T, true>(mask), repeatTime, srcRepStride,
                                        calIndex, internal::MinTree{}, where);
}

template <class T>
void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               int32_t mask, int32_t repeatTime, int32_t srcRepStride, bool calIndex = false,
               sim::Where where = sim::Where::here()) {
    internal::reduce_extreme_of_repeats("ReduceMin", "WholeReduceMin", dst, src, sharedTmpBuffer,
                                        internal::lanes_mask<true>(static_cast<uint64_t>(mask)), repeatTime,
                                        srcRepStride, calIndex, internal::MinTree{}, where);
}

}  // namespace AscendC
