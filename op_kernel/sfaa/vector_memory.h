// SPDX-License-Identifier: Apache-2.0
// vector_memory.h - the UB of a vector core, and which query rows of a pass are this core's.
#pragma once
#include "sfaa/sync.h"
#include "sfaa/tasks.h"
#include "sfaa/two_terms.h"

namespace sals::sfaa {

// Query rows [begin, begin + count) of a pass.
struct RowShare {
    int32_t begin;
    int32_t count;
};

class VectorMemory {
public:
    SALS_DEVICE VectorMemory(const AscendC::LocalTensor<uint8_t>& ub, const SfaaTiling& tiling, int32_t half)
        : ub_(ub), tiling_(tiling), half_(half) {}

    SALS_DEVICE const SfaaTiling& tiling() const { return tiling_; }

    template <class T>
    SALS_DEVICE AscendC::LocalTensor<T> part(uint32_t offset) const {
        return view<T>(ub_, offset);
    }

    // The first vector core takes the larger half.
    SALS_DEVICE RowShare share(const Pass& pass) const {
        const int32_t first = (pass.query_rows + 1) / static_cast<int32_t>(AtlasA2::AIV_PER_AIC);
        return half_ == 0 ? RowShare{0, first} : RowShare{first, pass.query_rows - first};
    }

    SALS_DEVICE Floats per_row(int32_t i) const {
        return part<float>(offsetof(UbPlan, per_row) + i * sizeof(PerRow));
    }
    SALS_DEVICE Floats lanes(int32_t i) const {
        return part<float>(offsetof(UbPlan, lanes) + i * sizeof(PerRowLanes));
    }
    SALS_DEVICE FoldScratch fold_scratch() const {
        return {part<float>(offsetof(UbPlan, reduced)), part<float>(offsetof(UbPlan, reduced_rows))};
    }

    // Of a pass: logit = factor * product.
    SALS_DEVICE Floats factors(int32_t pass) const {
        return part<float>(offsetof(UbPlan, query) + offsetof(QueryPlan, factors) +
                           pass % SFAA_QUERY_SLOTS * sizeof(PerRow));
    }
    SALS_DEVICE Floats factor_lanes(int32_t pass) const {
        return part<float>(offsetof(UbPlan, query) + offsetof(QueryPlan, factor_lanes) +
                           pass % SFAA_QUERY_SLOTS * sizeof(PerRowLanes));
    }

    // Of a task.
    SALS_DEVICE uint32_t task_stats(int32_t task) const {
        return offsetof(UbPlan, task_stats) + task % STATS_SLOTS * sizeof(Stats);
    }
    SALS_DEVICE Floats value_factors(int32_t task) const {
        return part<float>(offsetof(UbPlan, value_factors) + task % STATS_SLOTS * sizeof(PerRow));
    }

private:
    AscendC::LocalTensor<uint8_t> ub_;
    const SfaaTiling& tiling_;
    int32_t half_;
};

// Query rows in memory: rows of one query token stand together.
struct RowSegment {
    int64_t head;  // first query head, over all tokens
    int32_t at;    // first row, counted from the first that was asked for
    int32_t count;
};

// use(segment) for query rows [begin, begin + count) of a list row.
template <class Use>
SALS_DEVICE void for_each_segment(const SfaaTiling& tiling, const ListRow& row, int32_t begin, int32_t count,
                                  Use&& use) {
    const int64_t n_q = int64_t{tiling.n_kv} * tiling.group;
    for (int32_t at = 0; at < count;) {
        const int32_t token = (begin + at) / tiling.group;
        const int32_t g = begin + at - token * tiling.group;
        const int32_t rows = smaller(tiling.group - g, count - at);
        use(RowSegment{(int64_t{row.token} + token) * n_q + int64_t{row.head} * tiling.group + g, at, rows});
        at += rows;
    }
}

}  // namespace sals::sfaa
