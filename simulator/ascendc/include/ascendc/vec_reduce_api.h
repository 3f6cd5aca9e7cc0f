// SPDX-License-Identifier: Apache-2.0
// vec_reduce_api.h - the names under which kernels call reductions per datablock, per pair and per repeat.
// dst strides count results of a repeat: dstRepStride 1 leaves no gap.
#pragma once
#include "ascendc/vec_reduce.h"

namespace AscendC {

template <class T, bool isSetMask = true>
void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat, int32_t mask,
                    internal::U16 dstRepStride, internal::U16 srcBlkStride, internal::U16 srcRepStride,
                    sim::Where where = sim::Where::here()) {
    internal::block_reduce("BlockReduceSum", dst, src,
                           internal::lanes_mask<isSetMask>(static_cast<uint64_t>(mask)), repeat,
                           {dstRepStride, srcBlkStride, srcRepStride}, internal::SumTree{}, where);
}

template <class T, bool isSetMask = true>
void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat,
                    const uint64_t mask[], internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, sim::Where where = sim::Where::here()) {
    internal::block_reduce("BlockReduceSum", dst, src, internal::bits_mask<T, isSetMask>(mask), repeat,
                           {dstRepStride, srcBlkStride, srcRepStride}, internal::SumTree{}, where);
}

template <class T, bool isSetMask = true>
void BlockReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat, int32_t mask,
                    internal::U16 dstRepStride, internal::U16 srcBlkStride, internal::U16 srcRepStride,
                    sim::Where where = sim::Where::here()) {
    internal::block_reduce("BlockReduceMax", dst, src,
                           internal::lanes_mask<isSetMask>(static_cast<uint64_t>(mask)), repeat,
                           {dstRepStride, srcBlkStride, srcRepStride}, internal::MaxTree{}, where);
}

template <class T, bool isSetMask = true>
void BlockReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat,
                    const uint64_t mask[], internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, sim::Where where = sim::Where::here()) {
    internal::block_reduce("BlockReduceMax", dst, src, internal::bits_mask<T, isSetMask>(mask), repeat,
                           {dstRepStride, srcBlkStride, srcRepStride}, internal::MaxTree{}, where);
}

template <class T, bool isSetMask = true>
void BlockReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat, int32_t mask,
                    internal::U16 dstRepStride, internal::U16 srcBlkStride, internal::U16 srcRepStride,
                    sim::Where where = sim::Where::here()) {
    internal::block_reduce("BlockReduceMin", dst, src,
                           internal::lanes_mask<isSetMask>(static_cast<uint64_t>(mask)), repeat,
                           {dstRepStride, srcBlkStride, srcRepStride}, internal::MinTree{}, where);
}

template <class T, bool isSetMask = true>
void BlockReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat,
                    const uint64_t mask[], internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, sim::Where where = sim::Where::here()) {
    internal::block_reduce("BlockReduceMin", dst, src, internal::bits_mask<T, isSetMask>(mask), repeat,
                           {dstRepStride, srcBlkStride, srcRepStride}, internal::MinTree{}, where);
}

template <class T, bool isSetMask = true>
void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat, int32_t mask,
                   internal::U16 dstRepStride, internal::U16 srcBlkStride, internal::U16 srcRepStride,
                   sim::Where where = sim::Where::here()) {
    internal::pair_reduce(dst, src, internal::lanes_mask<isSetMask>(static_cast<uint64_t>(mask)), repeat,
                          {dstRepStride, srcBlkStride, srcRepStride}, where);
}

template <class T, bool isSetMask = true>
void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat,
                   const uint64_t mask[], internal::U16 dstRepStride, internal::U16 srcBlkStride,
                   internal::U16 srcRepStride, sim::Where where = sim::Where::here()) {
    internal::pair_reduce(dst, src, internal::bits_mask<T, isSetMask>(mask), repeat,
                          {dstRepStride, srcBlkStride, srcRepStride}, where);
}

template <class T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask,
                    internal::U8 repeatTime, internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, sim::Where where = sim::Where::here()) {
    internal::whole_reduce_sum("WholeReduceSum", dst, src,
                               internal::lanes_mask<isSetMask>(static_cast<uint64_t>(mask)), repeatTime,
                               {dstRepStride, srcBlkStride, srcRepStride}, where);
}

template <class T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                    internal::U8 repeatTime, internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, sim::Where where = sim::Where::here()) {
    internal::whole_reduce_sum("WholeReduceSum", dst, src, internal::bits_mask<T, isSetMask>(mask),
                               repeatTime, {dstRepStride, srcBlkStride, srcRepStride}, where);
}

template <class T, bool isSetMask = true>
void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask,
                    internal::U8 repeatTime, internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                    sim::Where where = sim::Where::here()) {
    internal::whole_reduce_extreme(
        "WholeReduceMax", dst, src, internal::lanes_mask<isSetMask>(static_cast<uint64_t>(mask)), repeatTime,
        {dstRepStride, srcBlkStride, srcRepStride}, order, internal::MaxTree{}, where);
}

template <class T, bool isSetMask = true>
void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                    internal::U8 repeatTime, internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                    sim::Where where = sim::Where::here()) {
    internal::whole_reduce_extreme("WholeReduceMax", dst, src, internal::bits_mask<T, isSetMask>(mask),
                                   repeatTime, {dstRepStride, srcBlkStride, srcRepStride}, order,
                                   internal::MaxTree{}, where);
}

template <class T, bool isSetMask = true>
void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask,
                    internal::U8 repeatTime, internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                    sim::Where where = sim::Where::here()) {
    internal::whole_reduce_extreme(
        "WholeReduceMin", dst, src, internal::lanes_mask<isSetMask>(static_cast<uint64_t>(mask)), repeatTime,
        {dstRepStride, srcBlkStride, srcRepStride}, order, internal::MinTree{}, where);
}

template <class T, bool isSetMask = true>
void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
                    internal::U8 repeatTime, internal::U16 dstRepStride, internal::U16 srcBlkStride,
                    internal::U16 srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                    sim::Where where = sim::Where::here()) {
    internal::whole_reduce_extreme("WholeReduceMin", dst, src, internal::bits_mask<T, isSetMask>(mask),
                                   repeatTime, {dstRepStride, srcBlkStride, srcRepStride}, order,
                                   internal::MinTree{}, where);
}

// WholeReduceSum with another order of parameters; the block stride of dst has no meaning.
template <class T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, internal::U8 repeat,
                     int32_t elemsInOneRepeat, int32_t, internal::U16 srcBlkStride,
                     internal::U16 dstRepStride, internal::U16 srcRepStride,
                     sim::Where where = sim::Where::here()) {
    internal::whole_reduce_sum("RepeatReduceSum", dst, src,
                               internal::lanes_mask<isSetMask>(static_cast<uint64_t>(elemsInOneRepeat)),
                               repeat, {dstRepStride, srcBlkStride, srcRepStride}, where);
}

}  // namespace AscendC
