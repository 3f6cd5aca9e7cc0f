// SPDX-License-Identifier: Apache-2.0
// sorted_sample.h - a few scores of many, sorted; and the bracket that they suggest for a score of a given
// rank. A sample is SAMPLE scores: 32 datablocks at equal distances.
#pragma once
#include "qsi/score_key.h"
#include "qsi/score_row.h"
#include "qsi/sort_records.h"

namespace sals::qsi {

// Order keys of the lowest and the highest score that may be meant, both inside.
struct Bracket {
    uint32_t lowest;
    uint32_t highest;

    SALS_DEVICE bool is_one() const { return lowest == highest; }
    // Not empty, and less than the whole, unless it is one score.
    SALS_DEVICE Bracket upper_half() const { return {lowest + (highest - lowest + 1) / 2, highest}; }
    SALS_DEVICE uint32_t clamp(uint32_t key) const {
        return key < lowest ? lowest : key > highest ? highest : key;
    }
};

class SortedSample {
public:
    // ramp: defined words, at least SORT_LIMIT, as indices of records that nobody reads.
    SALS_DEVICE SortedSample(const AscendC::LocalTensor<uint8_t>& ub,
                             const AscendC::LocalTensor<int32_t>& ramp)
        : ub_(ub), indices_(ramp.ReinterpretCast<uint32_t>()) {}

    // Of a list of more than SORT_LIMIT scores, at most a chunk. Only the end of the list may still be on its
    // way.
    SALS_DEVICE void draw_from_list(const AscendC::LocalTensor<float>& list, int32_t count) {
        const uint8_t stride = count / SAMPLE;  // in datablocks: 32 of them in count / 8
        const AscendC::UnaryRepeatParams spread(1, stride, DATABLOCKS, DATABLOCKS * stride);
        Adds(scores(), list, 0.0F, LANES, SAMPLE / LANES, spread);
        sort(SAMPLE);
    }

    // Of a row of more than SORT_LIMIT scores. The vector unit has finished with the buffer when its scores
    // last left.
    SALS_DEVICE void draw_from_row(const ScoreRow& row) {
        const AscendC::DataCopyParams spread(SAMPLE / DATABLOCK_LANES, 1, row.size() / SAMPLE - 1, 0);
        DataCopy(scores(), row.scores(), spread);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(UB_SAMPLE_FULL);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(UB_SAMPLE_FULL);
        sort(SAMPLE);
    }

    // Not a sample but all of a list of at most SORT_LIMIT scores.
    SALS_DEVICE void sort_list(const AscendC::LocalTensor<float>& list, int32_t count) {
        const int32_t width = count <= SAMPLE ? SAMPLE : SORT_LIMIT;
        fill(scores(), -__builtin_inff(), width);
        AscendC::PipeBarrier<PIPE_V>();
        Adds(scores(), list, 0.0F, count);
        sort(width);
    }

    // Key of the i-th highest, from 0.
    SALS_DEVICE uint32_t key(int32_t i) const { return order_key(records(0).GetValue(i * RECORD_WORDS)); }

    // The `count` highest scores, sorted. The sort put at least that many in order.
    SALS_DEVICE void copy_scores(const AscendC::LocalTensor<float>& dst, int32_t count) const {
        pick_halves(dst, records(0), FIRST_OF_TWO, count);
    }

    // Where the score should be that has rank `rank`, from 1, among `population` sampled ones, all in
    // `outer`.
    SALS_DEVICE Bracket around(int32_t rank, int32_t population, const Bracket& outer) const {
        const int32_t middle = static_cast<int32_t>(int64_t{rank} * SAMPLE / population);
        const int32_t low = middle + MARGIN;
        const int32_t high = middle - MARGIN;
        return {low < SAMPLE ? outer.clamp(key(low)) : outer.lowest,
                high >= 0 ? outer.clamp(key(high)) : outer.highest};
    }

private:
    // About 3 standard deviations of the rank that, in a sample of 256, a score has that is kept with
    // probability 1/4.
    static constexpr int32_t MARGIN = 20;
    static constexpr int32_t SECOND_RUN = SORT_WIDTH * MERGE_WAYS;  // length after the first merge

    SALS_DEVICE AscendC::LocalTensor<float> part(uint32_t offset) const {
        return view<float>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, threshold) + offset);
    }
    SALS_DEVICE AscendC::LocalTensor<float> scores() const { return part(offsetof(ThresholdPlan, sample)); }
    SALS_DEVICE AscendC::LocalTensor<float> records(int32_t which) const {
        return part(offsetof(ThresholdPlan, records) + which * sizeof(ThresholdPlan::records[0]));
    }

    SALS_DEVICE void sort(int32_t width) {
        sort_runs(records(0), scores(), indices_, width);
        merge_runs(records(1), records(0), SORT_WIDTH, width / SECOND_RUN);
        if (width == SAMPLE) {
            merge_two(records(0), records(1), SECOND_RUN, records(1)[SECOND_RUN * RECORD_WORDS], SECOND_RUN);
        } else {
            merge_runs(records(0), records(1), SECOND_RUN, 1);
        }
        finish_vector(UB_RESULT);
    }

    AscendC::LocalTensor<uint8_t> ub_;
    AscendC::LocalTensor<uint32_t> indices_;
};

}  // namespace sals::qsi
