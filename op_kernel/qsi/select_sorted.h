// SPDX-License-Identifier: Apache-2.0
// select_sorted.h - selection policy of order="score": the merge-sort ladder. A chunk is sorted in runs of
// 32, 128, 512 and 2048 records and merged with the best of the chunks before it, which come first where
// scores are equal: ids ascend from chunk to chunk.
// Runs on   one vector core per row
// Path      scores of the row --MTE2--> ub_chunk --V--> ub_best --> ub_ids --MTE3--> block_ids
// Why       order="score" needs the order; merging chunk by chunk costs a tenth more than merging three
// chunks
//           and the best at once, and a quarter of the memory
#pragma once
#include "qsi/score_row.h"
#include "qsi/sort_records.h"
#include "qsi/write_row.h"

namespace sals::qsi {

class SelectSorted {
public:
    static constexpr int32_t CHUNK_SCORES = LADDER;

    SALS_DEVICE SelectSorted(const AscendC::LocalTensor<uint8_t>& ub, RowWriter& writer)
        : ub_(ub), writer_(writer) {}

    // Appends the ids of the k best scores, 0 < k <= min(n, LADDER); the first score belongs to block
    // `first`.
    SALS_DEVICE void run(ScoreRow& row, int32_t first, int32_t k) {
        int32_t length = 0;
        for (row.rewind(); row.has_chunk(); row.release()) {
            const int32_t width = run_width(row.count());
            sort_chunk(row.take(), row.count(), width, first + row.begin());
            length = length == 0 ? keep(fresh(), width, k) : merge_chunk(width, length, k);
        }
        const auto out = writer_.acquire();
        pick_halves(out, best().template ReinterpretCast<int32_t>(), SECOND_OF_TWO, k);
        writer_.append(k);
    }

private:
    static constexpr int32_t RUN_2 = SORT_WIDTH * MERGE_WAYS;
    static constexpr int32_t RUN_3 = RUN_2 * MERGE_WAYS;
    static_assert(RUN_3 * MERGE_WAYS == LADDER, "the ladder has four rungs");

    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return view<T>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, ladder) + offset);
    }
    SALS_DEVICE AscendC::LocalTensor<float> rung(int32_t which) const {
        return part<float>(offsetof(LadderPlan, rungs) + which * sizeof(LadderPlan::rungs[0]));
    }
    SALS_DEVICE AscendC::LocalTensor<float> fresh() const { return part<float>(offsetof(LadderPlan, fresh)); }
    SALS_DEVICE AscendC::LocalTensor<float> best() const { return part<float>(offsetof(LadderPlan, best)); }

    // The run length that holds a chunk.
    SALS_DEVICE static int32_t run_width(int32_t count) {
        return count <= RUN_2 ? RUN_2 : count <= RUN_3 ? RUN_3 : LADDER;
    }

    // Sorts a chunk, filled up with -inf, into fresh. These records stand behind all others that are equal.
    SALS_DEVICE void sort_chunk(const AscendC::LocalTensor<float>& x, int32_t count, int32_t width,
                                int32_t first) {
        const auto ids = rung(1).template ReinterpretCast<int32_t>();  // until the first merge
        const int32_t whole = round_up(count, DATABLOCK_LANES);
        fill_datablock_end(x, -__builtin_inff(), count);
        if (whole < width) fill(x[whole], -__builtin_inff(), width - whole);
        Adds(ids, writer_.ramp(), first, width);
        sort_runs(rung(0), x, ids.template ReinterpretCast<uint32_t>(), width);
        merge_runs(width == RUN_2 ? fresh() : rung(1), rung(0), SORT_WIDTH, width / RUN_2);
        if (width == RUN_2) return;
        merge_runs(width == RUN_3 ? fresh() : rung(0), rung(1), RUN_2, width / RUN_3);
        if (width == RUN_3) return;
        merge_runs(fresh(), rung(0), RUN_3, 1);
    }

    SALS_DEVICE int32_t merge_chunk(int32_t width, int32_t length, int32_t k) {
        merge_two(rung(0), best(), length, fresh(), width);  // fills both rungs
        return keep(rung(0), length + width, k);
    }

    // The first k records become the best.
    SALS_DEVICE int32_t keep(const AscendC::LocalTensor<float>& records, int32_t length, int32_t k) {
        const int32_t kept = length < k ? length : k;
        AscendC::PipeBarrier<PIPE_V>();
        DataCopy(best(), records, round_up(kept * RECORD_WORDS, DATABLOCK_LANES));
        return kept;
    }

    AscendC::LocalTensor<uint8_t> ub_;
    RowWriter& writer_;
};

}  // namespace sals::qsi
