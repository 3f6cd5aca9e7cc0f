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
        const int32_t rank = k - search_.above().count;  // inside the bracket
        if (search_.bracket().is_one()) {
            return {score_of_key(search_.bracket().lowest), search_.inside().count == rank ? ALL_TIES : rank};
        }
        SortedSample& sorted = search_.sample();
        sorted.sort_list(search_.list(), search_.length());
        const uint32_t key = sorted.key(rank - 1);
        const bool is_last = rank < sorted.size() && sorted.key(rank) < key;
        return {score_of_key(key), is_last ? ALL_TIES : rank - sorted.count_from(key + 1)};
    }

private:
    CountMeasure measure_;
    BracketSearch<CountMeasure> search_;
};

}  // namespace sals::qsi
