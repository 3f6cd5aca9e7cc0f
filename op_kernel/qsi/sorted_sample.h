// SPDX-License-Identifier: Apache-2.0
// sorted_sample.h - a few scores of many, sorted; and the bracket that they suggest for a score of a given
// rank. A sample consists of datablocks at equal distances.
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
};

class SortedSample {
public:
    // ramp: defined words, at least ROW_SAMPLE, as indices of records that nobody reads.
    SALS_DEVICE SortedSample(const AscendC::LocalTensor<uint8_t>& ub,
                             const AscendC::LocalTensor<int32_t>& ramp)
        : ub_(ub), indices_(ramp.ReinterpretCast<uint32_t>()) {}

    // LIST_SAMPLE of a list of more than SORT_LIMIT scores, at most a chunk.
    SALS_DEVICE void draw_from_list(const AscendC::LocalTensor<float>& list, int32_t count) {
        // In datablocks: 16 of them in count / 8, as far as 8 bits reach over a repeat.
        const uint8_t stride = smaller<int32_t>(count / LIST_SAMPLE, UINT8_MAX / DATABLOCKS);
        const AscendC::UnaryRepeatParams spread(1, stride, DATABLOCKS, DATABLOCKS * stride);
        AscendC::PipeBarrier<PIPE_V>();
        Adds(scores(), list, 0.0F, LANES, LIST_SAMPLE / LANES, spread);
        sort(LIST_SAMPLE);
        caution_ = LIST_CAUTION;
    }

    // Of a row of several chunks: more of a longer one, so that its brackets fit a list. The vector unit has
    // finished with the buffer when its scores last left.
    SALS_DEVICE void draw_from_row(ScoreRow& row) {
        const int32_t size = row.size() <= 4 * CHUNK ? ROW_SAMPLE / 2 : ROW_SAMPLE;
        const AscendC::DataCopyParams spread(size / DATABLOCK_LANES, 1, row.size() / size - 1, 0);
        DataCopy(scores(), row.scores(), spread);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(UB_SAMPLE_FULL);
        row.prefetch();
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(UB_SAMPLE_FULL);
        sort(size);
        caution_ = ROW_CAUTION;
    }

    // Not a sample but all of a list of at most SORT_LIMIT scores.
    SALS_DEVICE void sort_list(const AscendC::LocalTensor<float>& list, int32_t count) {
        const int32_t width = count <= RUN ? RUN : SORT_LIMIT;
        fill(scores(), -__builtin_inff(), width);
        AscendC::PipeBarrier<PIPE_V>();
        Adds(scores(), list, 0.0F, count);
        sort(width);
    }

    SALS_DEVICE int32_t size() const { return size_; }  // scores that are sorted

    // Key of the i-th highest, from 0.
    SALS_DEVICE uint32_t key(int32_t i) const { return order_key(records(0).GetValue(i * RECORD_WORDS)); }

    // The `count` highest scores, sorted. The sort put at least that many in order.
    SALS_DEVICE void copy_scores(const AscendC::LocalTensor<float>& dst, int32_t count) const {
        pick_halves(dst, records(0), FIRST_OF_TWO, count);
    }

    // How many have a key of at least `bound`.
    SALS_DEVICE int32_t count_from(uint32_t bound) const {
        int32_t begin = 0;
        int32_t end = size_;
        while (begin < end) {
            const int32_t middle = begin + (end - begin) / 2;
            if (key(middle) >= bound) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        return begin;
    }

    // Takes account of a bracket: only members inside it count from here on.
    SALS_DEVICE void restrict_to(const Bracket& bracket) {
        begin_ = key(0) <= bracket.highest ? 0 : count_from(bracket.highest + 1);
        end_ = key(size_ - 1) >= bracket.lowest ? size_ : count_from(bracket.lowest);
    }
    // Members that count.
    SALS_DEVICE int32_t begin() const { return begin_; }
    SALS_DEVICE int32_t end() const { return end_; }

    // Where the score should be that has rank `rank`, from 1, among `population` scores of the bracket.
    SALS_DEVICE Bracket around(int64_t rank, int64_t population, const Bracket& bracket) const {
        const int32_t middle = begin_ + static_cast<int32_t>(rank * (end_ - begin_) / population);
        const int32_t margin = margin_of(rank, population);
        const int32_t low = middle + margin;
        const int32_t high = middle - margin;
        return {low < end_ ? key(low) : bracket.lowest, high >= begin_ ? key(high) : bracket.highest};
    }

private:
    static constexpr int32_t RUN = SORT_WIDTH * MERGE_WAYS;  // length after the first merge
    static constexpr int32_t LIST_CAUTION = 2;               // a miss costs a pass over a list in UB,
    static constexpr int32_t ROW_CAUTION = 3;                // or over a row

    // `caution_` standard deviations of the place that a score of a given rank has in the sample.
    SALS_DEVICE int32_t margin_of(int64_t rank, int64_t population) const {
        const int64_t members = end_ - begin_;
        const int64_t variance = members * rank / population * (population - rank) / population;
        int32_t margin = 1;
        while (margin * margin < caution_ * caution_ * variance) ++margin;
        return margin;
    }

    SALS_DEVICE AscendC::LocalTensor<float> part(uint32_t offset) const {
        return view<float>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, threshold) + offset);
    }
    SALS_DEVICE AscendC::LocalTensor<float> scores() const { return part(offsetof(ThresholdPlan, sample)); }
    SALS_DEVICE AscendC::LocalTensor<float> records(int32_t which) const {
        return part(offsetof(ThresholdPlan, records) + which * sizeof(ThresholdPlan::records[0]));
    }

    // Into records(0). The width is one, two or four runs.
    SALS_DEVICE void sort(int32_t width) {
        const bool is_run = width == RUN;
        const auto longer = records(is_run ? 0 : 1);
        size_ = width;
        begin_ = 0;
        end_ = width;
        sort_runs(records(is_run ? 1 : 0), scores(), indices_, width);
        merge_runs(longer, records(is_run ? 1 : 0), SORT_WIDTH, width / RUN);
        if (width == 2 * RUN) merge_two(records(0), longer, RUN, longer[RUN * RECORD_WORDS], RUN);
        if (width == 4 * RUN) merge_runs(records(0), longer, RUN, 1);
        finish_vector(UB_RESULT);
    }

    AscendC::LocalTensor<uint8_t> ub_;
    AscendC::LocalTensor<uint32_t> indices_;
    int32_t size_ = 0;
    int32_t begin_ = 0, end_ = 0;
    int32_t caution_ = LIST_CAUTION;
};

}  // namespace sals::qsi
