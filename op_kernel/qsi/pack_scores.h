// SPDX-License-Identifier: Apache-2.0
// pack_scores.h - the scores of a list or a row that pass a bound, packed; and counted.
#pragma once
#include "qsi/sorted_sample.h"

namespace sals::qsi {

struct RowCount {
    int32_t high;    // scores at or above the lower bound
    int32_t inside;  // of those, at or below the upper bound
    int32_t length;  // of the list of them, gaps included
    bool is_whole;   // the list holds all that are inside, rather than those of the last chunks
};

class PackScores {
public:
    SALS_DEVICE explicit PackScores(const AscendC::LocalTensor<uint8_t>& ub) : ub_(ub) {}

    SALS_DEVICE AscendC::LocalTensor<float> kept() const {
        return part<float>(offsetof(ThresholdPlan, kept));
    }
    SALS_DEVICE AscendC::LocalTensor<float> scratch() const {
        return part<float>(offsetof(ThresholdPlan, scratch));
    }
    SALS_DEVICE AscendC::LocalTensor<uint8_t> mask() const {
        return part<uint8_t>(offsetof(ThresholdPlan, mask));
    }

    // Packs the scores with x <mode> key into dst. Lanes up to the next datablock become -inf, which is never
    // above a threshold and has no mass: whatever is compared next is compared in whole repeats.
    SALS_DEVICE int32_t pack(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& x,
                             uint32_t key, AscendC::CMPMODE mode, int32_t count) const {
        compare(mask(), x, score_of_key(key), mode, count);
        const int32_t packed = gather(dst, x, mask(), count, UB_RESULT);
        fill_datablock_end(dst, -__builtin_inff(), packed);
        return packed;
    }

    // How many scores have x <mode> key.
    SALS_DEVICE int32_t count_of(const AscendC::LocalTensor<float>& x, uint32_t key, AscendC::CMPMODE mode,
                                 int32_t count) const {
        compare(mask(), x, score_of_key(key), mode, count);
        return gather(scratch(), x, mask(), count, UB_RESULT);
    }

    // Counts a whole row against a bracket, and lists in kept() what is inside. The list continues at whole
    // datablocks, with -inf in the gaps.
    SALS_DEVICE RowCount pack_row(ScoreRow& row, const Bracket& bracket) const {
        RowCount counts = {0, 0, 0, true};
        for (row.rewind(); row.has_chunk(); row.release()) {
            const auto x = row.take();
            const int32_t high = pack(scratch(), x, bracket.lowest, AscendC::CMPMODE::GE, row.count());
            counts.high += high;
            if (high == 0) continue;
            if (counts.length + high > CHUNK) {
                counts.is_whole = false;
                counts.length = 0;
            }
            const auto list = kept()[counts.length];
            const int32_t inside = pack(list, scratch(), bracket.highest, AscendC::CMPMODE::LE, high);
            counts.inside += inside;
            counts.length = round_up(counts.length + inside, DATABLOCK_LANES);
        }
        return counts;
    }

private:
    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return view<T>(ub_, offsetof(UbPlan, select) + offsetof(SelectPlan, threshold) + offset);
    }

    AscendC::LocalTensor<uint8_t> ub_;
};

}  // namespace sals::qsi
