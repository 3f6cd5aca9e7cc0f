// SPDX-License-Identifier: Apache-2.0
// select_coverage.h - coverage mode: how many candidates a row keeps. The last one kept is where the masses,
// from the highest score down, reach the limit. Once few scores may be it, they are sorted and their masses
// added up one by one. Which scores those are is then a matter of count.
// Runs on   one vector core per row, in the memory of the threshold policy
#pragma once
#include "qsi/bracket_search.h"
#include "qsi/coverage_mass.h"

namespace sals::qsi {

class SelectCoverage {
public:
    SALS_DEVICE SelectCoverage(const AscendC::LocalTensor<uint8_t>& ub,
                               const AscendC::LocalTensor<int32_t>& ramp)
        : mass_(ub), search_(ub, ramp, mass_) {}

    SALS_DEVICE int32_t run(ScoreRow& row, const SelectionParams& params) {
        const int64_t n = row.size();
        return static_cast<int32_t>(clamp_budget<int64_t>(covered(row, params), n, params));
    }

private:
    // Kept before the clamps of the rule; as many as max_blocks mean that or more.
    SALS_DEVICE int64_t covered(ScoreRow& row, const SelectionParams& params) {
        mass_.find_max(row);
        if (order_key(mass_.highest()) == LOWEST_KEY) {
            const int64_t n = row.size();
            const int64_t limit = coverage_limit(n * COVERAGE_MASS_ONE, params.coverage_q);
            return covered_ties(n, COVERAGE_MASS_ONE, 0, limit);
        }
        const int64_t all = mass_.weigh_row(row);
        const int64_t limit = coverage_limit(all, params.coverage_q);
        search_.run(row, all, limit, params.max_blocks);
        const int64_t above = search_.above().count;
        if (above >= params.max_blocks) return above;
        return above + (search_.bracket().is_one() ? covered_bracket(limit) : covered_list(limit));
    }

    // Of a bracket that is one score.
    SALS_DEVICE int64_t covered_bracket(int64_t limit) {
        const Amount& ties = search_.inside();
        return covered_ties(ties.count, ties.weight / ties.count, search_.above().weight, limit);
    }

    // Of the list, at most SORT_LIMIT scores.
    SALS_DEVICE int64_t covered_list(int64_t limit) {
        SortedSample& sorted = search_.sample();
        sorted.sort_list(search_.list(), search_.length());
        const auto scores = search_.pack().scratch();
        sorted.copy_scores(scores, sorted.size());
        mass_.find_masses(scores, sorted.size());
        finish_vector(UB_RESULT);
        int64_t mass = search_.above().weight;
        int32_t kept = 0;
        while (mass < limit) mass += mass_.masses().GetValue(kept++);
        return kept;
    }

    CoverageMass mass_;
    BracketSearch<CoverageMass> search_;
};

}  // namespace sals::qsi
