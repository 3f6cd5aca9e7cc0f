// SPDX-License-Identifier: Apache-2.0
// select_coverage.h - coverage mode: how many candidates a row keeps. The last one kept is bracketed by
// scores of a sorted sample, comparing the mass above them with the limit; the few scores in the bracket are
// sorted and their masses added up one by one. Which they are is then a matter of count. Runs on   one vector
// core per row, in the memory of the threshold policy Ends for every input: behind the sample the bracket is
// halved as a range of representable scores.
#pragma once
#include "qsi/coverage_mass.h"

namespace sals::qsi {

class SelectCoverage {
public:
    SALS_DEVICE SelectCoverage(const AscendC::LocalTensor<uint8_t>& ub,
                               const AscendC::LocalTensor<int32_t>& ramp)
        : pack_(ub), sample_(ub, ramp), mass_(ub) {}

    SALS_DEVICE int32_t run(ScoreRow& row, const SelectionParams& params) {
        const int64_t n = row.size();
        return static_cast<int32_t>(clamp_budget<int64_t>(covered(row, params.coverage_q), n, params));
    }

private:
    // Kept before the clamps of the rule.
    SALS_DEVICE int64_t covered(ScoreRow& row, int64_t coverage_q) {
        const int64_t n = row.size();
        mass_.find_max(row);
        if (mass_.max_key() == LOWEST_KEY) {
            const int64_t limit = coverage_limit(n * COVERAGE_MASS_ONE, coverage_q);
            return covered_ties(n, COVERAGE_MASS_ONE, 0, limit);
        }
        limit_ = coverage_limit(mass_.above(row, LOWEST_KEY), coverage_q);
        bracket_ = {LOWEST_KEY, mass_.max_key()};
        above_ = 0;
        if (n > SORT_LIMIT) narrow_by_sample(row);
        for (;;) {
            const RowCount counts = pack_.pack_row(row, bracket_);
            const int32_t higher = counts.high - counts.inside;
            if (bracket_.is_one()) return higher + covered_ties(counts.inside, one_mass(), above_, limit_);
            if (counts.is_whole && counts.length <= SORT_LIMIT) return higher + covered_list(counts);
            narrow(row, bracket_.lowest + (bracket_.highest - bracket_.lowest) / 2);
        }
    }

    // The last one kept scores `key` at most if all above it have less than the limit.
    SALS_DEVICE bool narrow(ScoreRow& row, uint32_t key) {
        const int64_t mass = mass_.above(row, key);
        const bool is_above_limit = mass >= limit_;
        if (is_above_limit) {
            bracket_.lowest = key + 1;
        } else {
            bracket_.highest = key;
            above_ = mass;
        }
        return !is_above_limit;
    }

    SALS_DEVICE void narrow_by_sample(ScoreRow& row) {
        sample_.draw_from_row(row);
        int32_t begin = 0;
        int32_t end = SAMPLE;
        while (begin < end && !bracket_.is_one()) {
            const int32_t middle = begin + (end - begin) / 2;
            if (narrow(row, bracket_.clamp(sample_.key(middle)))) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
    }

    // Of the list that pack_row left, at most SORT_LIMIT scores.
    SALS_DEVICE int32_t covered_list(const RowCount& counts) {
        sample_.sort_list(pack_.kept(), counts.length);
        const int32_t width = round_up(counts.length, LANES);
        sample_.copy_scores(pack_.scratch(), width);
        mass_.weigh(pack_.scratch(), width);
        finish_vector(UB_RESULT);
        const auto masses = pack_.kept().template ReinterpretCast<int32_t>();
        int64_t mass = above_;
        int32_t kept = 0;
        for (; kept < counts.inside && mass < limit_; ++kept) mass += masses.GetValue(kept);
        return kept;
    }

    // Of a score of the bracket that is one score.
    SALS_DEVICE int64_t one_mass() {
        fill(pack_.scratch(), score_of_key(bracket_.lowest), LANES);
        mass_.weigh(pack_.scratch(), LANES);
        finish_vector(UB_RESULT);
        return pack_.kept().template ReinterpretCast<int32_t>().GetValue(0);
    }

    PackScores pack_;
    SortedSample sample_;
    CoverageMass mass_;
    Bracket bracket_{};  // of the last score that is kept
    int64_t above_ = 0;  // mass of the scores above the bracket
    int64_t limit_ = 0;
};

}  // namespace sals::qsi
