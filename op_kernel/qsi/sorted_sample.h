// SPDX-License-Identifier: Apache-2.0
// sorted_sample.h - a few scores of many, sorted; and the bracket that they suggest for a score of a given
// rank. Neighbouring blocks of a text score alike, so a sample has one score of a datablock where there are
// datablocks enough, at equal distances.
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

    // What samples of all rows share.
    SALS_DEVICE static void open(const AscendC::LocalTensor<uint8_t>& ub) {
        fill(lanes(ub, 1), ONE_LANE, DATABLOCK_LANES);
        fill(lanes(ub, 2), TWO_LANES, DATABLOCK_LANES);
    }

    // LIST_SAMPLE of a list of more than SORT_LIMIT scores, at most a chunk.
    SALS_DEVICE void draw_from_list(const AscendC::LocalTensor<float>& list, int32_t count) {
        spread(list, count, LIST_SAMPLE);
        sort(LIST_SAMPLE);
        caution_ = LIST_CAUTION;
    }

    // Of a row of several chunks: more of a longer one, so that its brackets fit a list. `room` is free, for
    // ROOM scores: for all of the row, or else for datablocks of it.
    SALS_DEVICE void draw_from_row(ScoreRow& row, const AscendC::LocalTensor<float>& room) {
        const int32_t size = row.size() <= 4 * CHUNK ? ROW_SAMPLE / 2 : ROW_SAMPLE;
        int32_t count = round_down(row.size(), DATABLOCK_LANES);
        AscendC::DataCopyParams pieces(1, count / DATABLOCK_LANES, 0, 0);
        if (row.size() > ROOM) {
            count = ROW_PIECES * DATABLOCK_LANES;
            const int32_t distance = (row.size() / count - 1) | 1;  // odd, against rows that repeat
            pieces = AscendC::DataCopyParams(ROW_PIECES, 1, distance - 1, 0);
        }
        DataCopy(room, row.scores(), pieces);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(UB_SAMPLE_FULL);
        row.prefetch();
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(UB_SAMPLE_FULL);
        spread(room, count, size);
        sort(size);
        caution_ = CAUTION;
    }

    // A bracket of this sample missed: it says less than its size.
    SALS_DEVICE void be_cautious() { caution_ = CAUTION; }

    // Not a sample but all of a list of at most SORT_LIMIT scores.
    SALS_DEVICE void sort_list(const AscendC::LocalTensor<float>& list, int32_t count) {
        const int32_t width = count <= SORT_RUN ? SORT_RUN : SORT_LIMIT;
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
    // In halves of a standard deviation.
    static constexpr int32_t LIST_CAUTION = 3;  // a miss costs a pass over a list in UB,
    static constexpr int32_t CAUTION = 5;       // or over a row, or would be the second

    static constexpr int32_t ROW_PIECES = 256;  // datablocks of a row that exceeds ROOM
    // A bit per lane, a byte per datablock: its first lane; two lanes, others in the next datablock.
    static constexpr uint32_t ONE_LANE = 0x01010101U;
    static constexpr uint32_t TWO_LANES = 0x88442211U;

    // Scores at about equal distances: one, two or four of a datablock, or all.
    SALS_DEVICE void spread(const AscendC::LocalTensor<float>& list, int32_t count, int32_t size) {
        const int32_t datablocks = count / DATABLOCK_LANES;
        int32_t share = 1;  // of a datablock
        while (share < DATABLOCK_LANES && datablocks * share < size) share *= 2;
        const int32_t used = size / share;
        const int32_t stride = datablocks / used;
        const AscendC::GatherMaskParams params(stride, used / DATABLOCKS, stride * DATABLOCKS, 0);
        uint64_t picked = 0;
        AscendC::PipeBarrier<PIPE_V>();
        if (share <= 2) {
            GatherMask(scores(), list, lanes(ub_, share), false, 0, params, picked);
        } else {
            GatherMask(scores(), list, share == 4 ? FIRST_OF_TWO : ALL, false, 0, params, picked);
        }
    }

    // For the place that a score of a given rank has in the sample.
    SALS_DEVICE int32_t margin_of(int64_t rank, int64_t population) const {
        const int64_t members = end_ - begin_;
        const int64_t variance = members * rank / population * (population - rank) / population;
        int32_t margin = 1;
        while (4 * margin * margin < caution_ * caution_ * variance) ++margin;
        return margin;
    }

    SALS_DEVICE AscendC::LocalTensor<float> part(uint32_t offset) const {
        return view<float>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, threshold) + offset);
    }
    SALS_DEVICE static AscendC::LocalTensor<uint32_t> lanes(const AscendC::LocalTensor<uint8_t>& ub,
                                                            int32_t share) {
        return view<uint32_t>(ub, offsetof(UbPlan, select) + offsetof(SelectPlan, sampled_lanes) +
                                      (share - 1) * sizeof(SelectPlan::sampled_lanes[0]));
    }
    SALS_DEVICE AscendC::LocalTensor<float> scores() const { return part(offsetof(ThresholdPlan, sample)); }
    SALS_DEVICE AscendC::LocalTensor<float> records(int32_t which) const {
        return part(offsetof(ThresholdPlan, records) + which * sizeof(ThresholdPlan::records[0]));
    }

    // Into records(0). The width is one, two or four runs.
    SALS_DEVICE void sort(int32_t width) {
        const bool is_run = width == SORT_RUN;
        const auto longer = records(is_run ? 0 : 1);
        size_ = width;
        begin_ = 0;
        end_ = width;
        sort_runs(records(is_run ? 1 : 0), scores(), indices_, width);
        merge_runs(longer, records(is_run ? 1 : 0), SORT_WIDTH, width / SORT_RUN);
        if (width == 2 * SORT_RUN)
            merge_two(records(0), longer, SORT_RUN, longer[SORT_RUN * RECORD_WORDS], SORT_RUN);
        if (width == 4 * SORT_RUN) merge_runs(records(0), longer, SORT_RUN, 1);
        finish_vector(UB_RESULT);
    }

    AscendC::LocalTensor<uint8_t> ub_;
    AscendC::LocalTensor<uint32_t> indices_;
    int32_t size_ = 0;
    int32_t begin_ = 0, end_ = 0;
    int32_t caution_ = LIST_CAUTION;
};

}  // namespace sals::qsi
