// SPDX-License-Identifier: Apache-2.0
// sort_records.h - sorting by falling score: 32 at a time, then merged four runs at a time. A record is a
// score and an index, 8 bytes. Of equal scores the one that came first stays first.
#pragma once
#include "common/vector_ops.h"
#include "qsi/memory_plan.h"

namespace sals::qsi {

SALS_DEVICE void sort_runs(const AscendC::LocalTensor<float>& records,
                           const AscendC::LocalTensor<float>& scores,
                           const AscendC::LocalTensor<uint32_t>& indices, int32_t count) {
    AscendC::PipeBarrier<PIPE_V>();
    Sort32(records, scores, indices, count / SORT_WIDTH);
}

// Groups of four runs of `length` records become runs of four times that length.
SALS_DEVICE void merge_runs(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
                            int32_t length, int32_t groups) {
    const int32_t step = length * RECORD_WORDS;
    const AscendC::MrgSortSrcList<float> runs(src, src[step], src[2 * step], src[3 * step]);
    AscendC::MrgSort4Info info;
    for (int32_t i = 0; i < MERGE_WAYS; ++i) info.elementLengths[i] = length;
    info.ifExhaustedSuspension = false;
    info.validBit = (1 << MERGE_WAYS) - 1;
    info.repeatTimes = groups;
    AscendC::PipeBarrier<PIPE_V>();
    MrgSort(dst, runs, info);
}

SALS_DEVICE void merge_two(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& first,
                           int32_t first_length, const AscendC::LocalTensor<float>& second,
                           int32_t second_length) {
    const AscendC::MrgSortSrcList<float> runs(first, second, second, second);  // the last two are not valid
    AscendC::MrgSort4Info info;
    info.elementLengths[0] = first_length;
    info.elementLengths[1] = second_length;
    info.ifExhaustedSuspension = false;
    info.validBit = 3;
    info.repeatTimes = 1;
    AscendC::PipeBarrier<PIPE_V>();
    MrgSort(dst, runs, info);
}

// Patterns of GatherMask: which words it picks.
inline constexpr uint8_t FIRST_OF_TWO = 1;
inline constexpr uint8_t SECOND_OF_TWO = 2;
inline constexpr uint8_t ALL = 7;

// Scores or indices of the first `count` records.
template <class T>
SALS_DEVICE void pick_halves(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& records,
                             uint8_t pattern, int32_t count) {
    AscendC::GatherMaskParams whole;  // one repeat of all words
    whole.src0BlockStride = 1;
    whole.repeatTimes = 1;
    whole.src0RepeatStride = 0;
    whole.src1RepeatStride = 0;
    uint64_t picked = 0;
    AscendC::PipeBarrier<PIPE_V>();
    GatherMask(dst, records, pattern, true, count * RECORD_WORDS, whole, picked);
}

}  // namespace sals::qsi
