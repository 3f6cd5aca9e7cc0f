// SPDX-License-Identifier: Apache-2.0
// select_threshold.h - selection policy of order="index": every id whose score passes a threshold, ascending,
// for any k. Of scores that equal the threshold the first ones are kept.
// Runs on   one vector core per row
// Path      scores of the row --MTE2--> ub_chunk --V--> ub_ids --MTE3--> block_ids
// Why       a sort costs half a cycle per score and level, a threshold a tenth of a cycle per score in all
#pragma once
#include "qsi/find_threshold.h"
#include "qsi/write_row.h"

namespace sals::qsi {

class SelectThreshold {
public:
    static constexpr int32_t CHUNK_SCORES = CHUNK;

    SALS_DEVICE SelectThreshold(const AscendC::LocalTensor<uint8_t>& ub, RowWriter& writer)
        : ub_(ub), writer_(writer), find_(ub, writer.ramp()) {}

    // Appends the ids of the k best scores, 0 < k <= n; the first score belongs to block `first`.
    SALS_DEVICE void run(ScoreRow& row, int32_t first, int32_t k) {
        const Cut cut = find_.find(row, k);
        int32_t ties = cut.ties;
        const auto mode = ties == ALL_TIES ? AscendC::CMPMODE::GE : AscendC::CMPMODE::GT;
        for (row.rewind(); row.has_chunk(); row.release()) {
            const auto x = row.take();
            compare(mask(), x, cut.threshold, mode, row.count());
            if (ties != ALL_TIES && ties > 0) ties -= add_ties(x, cut.threshold, row.count(), ties);
            const auto ids = writer_.acquire();
            const int32_t count = gather(ids, writer_.ramp(), mask(), row.count(), UB_RESULT);
            if (count > 0) Adds(ids, ids, first + row.begin(), count);
            writer_.append(count);
        }
    }

private:
    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return view<T>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, threshold) + offset);
    }
    SALS_DEVICE AscendC::LocalTensor<uint8_t> mask() const {
        return part<uint8_t>(offsetof(ThresholdPlan, mask));
    }

    // Sets the bits of the first `wanted` scores of a chunk that equal the threshold; returns how many it
    // has.
    SALS_DEVICE int32_t add_ties(const AscendC::LocalTensor<float>& x, float threshold, int32_t count,
                                 int32_t wanted) {
        const auto tie_mask = part<uint8_t>(offsetof(ThresholdPlan, tie_mask));
        const auto places = part<int32_t>(offsetof(ThresholdPlan, kept));
        compare(tie_mask, x, threshold, AscendC::CMPMODE::EQ, count);
        int32_t found = gather(places, writer_.ramp(), tie_mask, count, UB_RESULT);
        if (found > wanted) {
            found = wanted;
            keep_early(tie_mask, places.GetValue(wanted - 1), count);
        }
        const auto words = mask().template ReinterpretCast<uint16_t>();
        Or(words, words, tie_mask.template ReinterpretCast<uint16_t>(), mask_words(count));
        return found;
    }

    // Clears the bits behind place `last`. Places of a chunk are exact in fp32.
    SALS_DEVICE void keep_early(const AscendC::LocalTensor<uint8_t>& tie_mask, int32_t last, int32_t count) {
        const auto early_mask = part<uint8_t>(offsetof(ThresholdPlan, early_mask));
        const auto places = part<float>(offsetof(ThresholdPlan, kept));
        Cast(places, writer_.ramp(), AscendC::RoundMode::CAST_NONE, round_up(count, LANES));
        compare(early_mask, places, static_cast<float>(last), AscendC::CMPMODE::LE, count);
        const auto words = tie_mask.template ReinterpretCast<uint16_t>();
        AscendC::PipeBarrier<PIPE_V>();
        And(words, words, early_mask.template ReinterpretCast<uint16_t>(), mask_words(count));
        AscendC::PipeBarrier<PIPE_V>();
    }

    SALS_DEVICE static int32_t mask_words(int32_t count) { return round_up(count, LANES) / 16; }

    AscendC::LocalTensor<uint8_t> ub_;
    RowWriter& writer_;
    FindThreshold find_;
};

}  // namespace sals::qsi
