// SPDX-License-Identifier: Apache-2.0
// find_threshold.h - the k-th highest score of a row, and how many that equal it are kept.
// Runs on   one vector core per row
#pragma once
#include "qsi/bracket_search.h"

namespace sals::qsi {

inline constexpr int32_t ALL_TIES = INT32_MAX;

// Kept are the scores above the threshold, and the first `ties` that equal it.
struct Cut {
    float threshold;
    int32_t ties;
};

// Every score weighs 1.
class CountMeasure {
public:
    SALS_DEVICE int64_t weigh(const AscendC::LocalTensor<float>& /*list*/, int32_t count) const {
        return count;
    }
    SALS_DEVICE Bracket first_probe(const SortedSample& sample, int64_t rank, const Amount& row) const {
        return suggest(sample, rank, row.count, {LOWEST_KEY, HIGHEST_KEY});
    }
    SALS_DEVICE Bracket suggest(const SortedSample& sample, int64_t rank, int64_t population,
                                const Bracket& bracket) const {
        return sample.around(rank, population, bracket);
    }
};

class FindThreshold {
public:
    SALS_DEVICE FindThreshold(const AscendC::LocalTensor<uint8_t>& ub,
                              const AscendC::LocalTensor<int32_t>& ramp)
        : search_(ub, ramp, measure_) {}

    // 0 < k <= n
    SALS_DEVICE Cut find(ScoreRow& row, int32_t k) {
        search_.run(row, row.size(), k, k);
        const int32_t above = search_.above().count;
        if (search_.bracket().is_one()) {
            return cut(search_.bracket().lowest, above, above + search_.inside().count, k);
        }
        SortedSample& sorted = search_.sample();
        sorted.sort_list(search_.list(), search_.length());
        const uint32_t key = sorted.key(k - above - 1);
        return cut(key, above + listed(key, AscendC::CMPMODE::GT), above + listed(key, AscendC::CMPMODE::GE),
                   k);
    }

private:
    SALS_DEVICE Cut cut(uint32_t key, int32_t above, int32_t above_or_equal, int32_t k) const {
        return {score_of_key(key), above_or_equal == k ? ALL_TIES : k - above};
    }

    SALS_DEVICE int32_t listed(uint32_t key, AscendC::CMPMODE mode) const {
        return search_.pack().count_of(search_.list(), key, mode, search_.length());
    }

    CountMeasure measure_;
    BracketSearch<CountMeasure> search_;
};

}  // namespace sals::qsi
