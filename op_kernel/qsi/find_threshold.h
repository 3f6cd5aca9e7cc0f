// SPDX-License-Identifier: Apache-2.0
// find_threshold.h - the k-th highest score of a row, and how many that equal it are kept, without sorting
// the row. The threshold is bracketed by two scores of a sorted sample; what lies between is packed with
// Compare and GatherMask, bracketed again, and sorted once few are left.
//     row [n] --> kept [~ n/6] --> kept [<= 512] --> sorted
// Runs on   one vector core per row
// Ends for every input: a bracket that leaves its rank outside still shrinks, and after SAMPLED_ROUNDS rounds
// brackets halve the range of representable scores instead, at most 32 times. Many equal scores make the
// bracket a single score. Rows longer than a chunk are read again for every round until what is left fits.
#pragma once
#include "qsi/pack_scores.h"

namespace sals::qsi {

inline constexpr int32_t ALL_TIES = INT32_MAX;

// Kept are the scores above the threshold, and the first `ties` that equal it.
struct Cut {
    float threshold;
    int32_t ties;
};

class FindThreshold {
public:
    SALS_DEVICE FindThreshold(const AscendC::LocalTensor<uint8_t>& ub,
                              const AscendC::LocalTensor<int32_t>& ramp)
        : pack_(ub), sample_(ub, ramp) {}

    // 0 < k <= n
    SALS_DEVICE Cut find(ScoreRow& row, int32_t k) {
        bracket_ = {LOWEST_KEY, HIGHEST_KEY};
        above_ = 0;
        if (row.is_one_chunk()) {
            row.rewind();
            list_ = row.take();
            row.release();
            count_ = row.size();
        } else {
            narrow_row(row, k);
        }
        for (int32_t round = 0; !bracket_.is_one() && count_ > SORT_LIMIT; ++round) {
            narrow_list(k, round < SAMPLED_ROUNDS ? sample_list(k, count_) : bracket_.upper_half());
        }
        return bracket_.is_one() ? cut(bracket_.lowest, above_, above_ + count_, k) : sort_list(k);
    }

private:
    static constexpr int32_t SAMPLED_ROUNDS = 3;

    SALS_DEVICE Cut cut(uint32_t key, int32_t above, int32_t above_or_equal, int32_t k) const {
        return {score_of_key(key), above_or_equal == k ? ALL_TIES : k - above};
    }

    // ---- a list in UB ------------------------------------------------------------------------------

    SALS_DEVICE Bracket sample_list(int32_t k, int32_t population) {
        sample_.draw_from_list(list_, count_);
        return sample_.around(k - above_, population, bracket_);
    }

    SALS_DEVICE void narrow_list(int32_t k, const Bracket& probe) {
        const auto kept = pack_.kept();
        const auto scratch = pack_.scratch();
        const int32_t rank = k - above_;
        const int32_t high = pack_.pack(scratch, list_, probe.lowest, AscendC::CMPMODE::GE, count_);
        if (rank > high) {
            count_ = pack_.pack(scratch, list_, probe.lowest, AscendC::CMPMODE::LT, count_);
            Adds(kept, scratch, 0.0F, count_);
            AscendC::PipeBarrier<PIPE_V>();
            above_ += high;
            bracket_.highest = probe.lowest - 1;
        } else {
            const int32_t inside = pack_.pack(kept, scratch, probe.highest, AscendC::CMPMODE::LE, high);
            const int32_t higher = high - inside;
            if (rank > higher) {
                above_ += higher;
                bracket_ = probe;
                count_ = inside;
            } else {
                count_ = pack_.pack(kept, scratch, probe.highest, AscendC::CMPMODE::GT, high);
                bracket_.lowest = probe.highest + 1;
            }
        }
        list_ = kept;
    }

    SALS_DEVICE Cut sort_list(int32_t k) {
        sample_.sort_list(list_, count_);
        const uint32_t key = sample_.key(k - above_ - 1);
        const int32_t higher = pack_.count_of(list_, key, AscendC::CMPMODE::GT, count_);
        const int32_t high = pack_.count_of(list_, key, AscendC::CMPMODE::GE, count_);
        return cut(key, above_ + higher, above_ + high, k);
    }

    // ---- a row in global memory --------------------------------------------------------------------

    // Reads the row until what is inside the bracket fits the list, or the bracket is one score.
    SALS_DEVICE void narrow_row(ScoreRow& row, int32_t k) {
        sample_.draw_from_row(row);
        Bracket probe = sample_.around(k, row.size(), bracket_);
        for (int32_t round = 1;; ++round) {
            const RowCount counts = pack_.pack_row(row, probe);
            list_ = pack_.kept();
            const int32_t higher = counts.high - counts.inside;
            const bool holds = k <= counts.high && k > higher;
            if (holds) {
                bracket_ = probe;
                above_ = higher;
                count_ = counts.is_whole ? counts.length : counts.inside;
                if (counts.is_whole || bracket_.is_one()) return;
            } else if (k > counts.high) {
                bracket_.highest = probe.lowest - 1;
            } else {
                bracket_.lowest = probe.highest + 1;
            }
            count_ = counts.length;
            const bool has_sample = holds && count_ > SORT_LIMIT && round < SAMPLED_ROUNDS;
            probe = has_sample ? sample_list(k, counts.inside) : bracket_.upper_half();
        }
    }

    PackScores pack_;
    SortedSample sample_;
    AscendC::LocalTensor<float> list_;  // the scores inside the bracket
    int32_t count_ = 0;                 // of them
    int32_t above_ = 0;                 // scores of the row above the bracket
    Bracket bracket_{};                 // of the threshold
};

}  // namespace sals::qsi
