// SPDX-License-Identifier: Apache-2.0
// vec_sort_helpers.h - sizes of sorted records in elements of T, Concat (which has nothing to do on
// architecture 2201) and Extract, which takes records apart.
#pragma once
#include "ascendc/vec_gather_mask.h"
#include "ascendc/vec_sort.h"

namespace AscendC {

// Elements of T that `elemCount` records take.
template <class T>
constexpr uint32_t GetSortLen(uint32_t elemCount) {
    return elemCount * internal::RECORD / sizeof(T);
}

template <class T>
constexpr uint32_t GetSortOffset(uint32_t elemOffset) {
    return elemOffset * internal::RECORD / sizeof(T);
}

template <class T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&, int32_t) {
    concat = src;
}

// 32 records per repeat: scores and indices, each side by side.
template <class T>
void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
             const LocalTensor<T>& sorted, int32_t repeatTime, sim::Where where = sim::Where::here()) {
    static_assert(std::is_same_v<T, float>, "records of half are taken apart with GatherMask");
    constexpr uint8_t EVEN = 1, ODD = 2;
    const GatherMaskParams params(1, repeatTime, DEFAULT_REPEAT_STRIDE, 0);
    uint64_t count = 0;
    GatherMask(dstValue, sorted, EVEN, false, 0, params, count, where);
    GatherMask(dstIndex, sorted.template ReinterpretCast<uint32_t>(), ODD, false, 0, params, count, where);
}

}  // namespace AscendC
