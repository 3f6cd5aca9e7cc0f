// SPDX-License-Identifier: Apache-2.0
// merge_parts.h - flash-decoding reduction: rows that the plan cut are put together from the parts that their
// cores left in the workspace.
//     m = max over parts of m_p,  x = sum over parts of x_p * exp(m_p - m)    for sum, exp_sum and values
// Runs on   all vector cores, a few query rows of a list row in turn; behind a SyncAll
// Path      parts --MTE2--> ub --V--> out, see output_rows.h
// All parts of some query rows are fetched at once and folded in halves: log2(parts) additions, in an order
// that depends on their number alone.
#pragma once
#include "sfaa/output_rows.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM, class Output>
class MergeParts {
public:
    SALS_DEVICE MergeParts(const VectorMemory& memory, OutputRows<HEAD_DIM, Output>& rows,
                           const ListTable& lists, const PlanReader& plan, const Arguments& args)
        : memory_(memory),
          tiling_(memory.tiling()),
          rows_(rows),
          lists_(lists),
          plan_(plan),
          workspace_(args.workspace) {
        gm_value_scale_ = global_tensor<float>(args.value_scale);
    }

    // All vector cores call it, whether there is work for them or not.
    SALS_DEVICE void run(int32_t vector_core, int32_t num_vector_cores) {
        const int32_t query_rows = sfaa_query_rows(tiling_);
        const int32_t slice = slice_rows(plan_.num_merges() * query_rows, num_vector_cores);
        const int32_t units = plan_.num_merges() * ceil_div(query_rows, slice);
        Unit unit;
        if (vector_core < units) unit = find(vector_core, slice);  // while others are still at work
        AscendC::SyncAll<true>();
        for (int32_t i = vector_core; i < units; i += num_vector_cores) {
            if (i > vector_core) unit = find(i, slice);
            merge(unit);
        }
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr int32_t MAX_ROWS =
        MERGE_ROWS * HEAD_DIM < MERGE_VALUES ? MERGE_ROWS : MERGE_VALUES / HEAD_DIM;
    static constexpr int32_t MAX_SLICE = F32_LANES / F32_DATABLOCK;  // statistics of a part are one repeat
    static_assert(MAX_ROWS >= MAX_CORES, "a query row may have a part on every core");

    // Some query rows of a cut list row: the core that begins it, and those that go on.
    struct Unit {
        ListRow row;
        QueryRows rows;
        int32_t first_core;
        int32_t end_core;
    };

    // As few query rows as keep all vector cores busy.
    SALS_DEVICE int32_t slice_rows(int32_t rows, int32_t num_vector_cores) const {
        const int32_t most = smaller(MAX_SLICE, MAX_ROWS / tiling_.num_cores);
        return smaller(ceil_div(rows, num_vector_cores), most);
    }

    SALS_DEVICE Floats part(uint32_t offset) const {
        return memory_.part<float>(offsetof(UbPlan, merge) + offset);
    }
    SALS_DEVICE Floats stats(int32_t stat) const {
        return part(offsetof(MergePlan, stats) + stat * sizeof(MergeLanes));
    }

    SALS_DEVICE Unit find(int32_t number, int32_t slice) const {
        const int32_t query_rows = sfaa_query_rows(tiling_);
        const int32_t slices = ceil_div(query_rows, slice);
        const int32_t index = plan_.merge_row(number / slices, tiling_.num_cores);
        const int32_t begin = number % slices * slice;
        Unit unit;
        unit.row = lists_.at(index);
        unit.rows = {begin, smaller(slice, query_rows - begin)};
        unit.first_core = 0;
        while (!plan_.has_piece(unit.first_core, index)) ++unit.first_core;
        unit.end_core = unit.first_core + 1;
        while (unit.end_core < tiling_.num_cores && plan_.has_piece(unit.end_core, index)) ++unit.end_core;
        return unit;
    }

    SALS_DEVICE void merge(const Unit& unit) {
        const QueryRows rows = unit.rows;
        const int32_t parts = unit.end_core - unit.first_core;
        WaitFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
        load(unit);
        SetFlag<HardEvent::MTE2_V>(UB_PRODUCTS_FULL);

        WaitFlag<HardEvent::MTE2_V>(UB_PRODUCTS_FULL);
        const Floats values = part(0);
        const Floats maxima = part(offsetof(MergePlan, folded));
        const Floats factors = stats(0);
        find_factors(factors, maxima, parts, rows.count);
        multiply_rows(values, factors, {parts * rows.count, HEAD_DIM});
        for (int32_t stat = 1; stat < num_stats(); ++stat) {
            const int32_t lanes = rows.count * F32_DATABLOCK;
            Mul(stats(stat), stats(stat), factors, parts * lanes);
        }
        fold<Fold::SUM>(values, parts, rows.count * HEAD_DIM);
        for (int32_t stat = num_stats() - 1; stat > 0; --stat) {
            fold<Fold::SUM>(stats(stat), parts, rows.count * F32_DATABLOCK);
        }
        rows_.finish_with(unit.row, rows, values, {maxima, stats(1), stats(2)});
        SetFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
    }

    SALS_DEVICE int32_t num_stats() const { return tiling_.returns_lse ? PART_STATS : PART_STATS - 1; }

    SALS_DEVICE void load(const Unit& unit) {
        if (tiling_.static_scales) {
            DataCopy(rows_.channels(), gm_value_scale_[static_cast<uint64_t>(unit.row.head) * HEAD_DIM],
                     static_cast<uint32_t>(HEAD_DIM));
        }
        load_parts(unit, 0, 1, sfaa_part(tiling_, unit.first_core, false));
        const int32_t others = unit.end_core - unit.first_core - 1;
        load_parts(unit, 1, others, sfaa_part(tiling_, unit.first_core + 1, true));
    }

    // `count` parts from cores that follow each other; `at` parts are there already.
    SALS_DEVICE void load_parts(const Unit& unit, int32_t at, int32_t count, const SfaaPart& from) const {
        const int64_t offsets[PART_STATS] = {from.maxima, from.sums, from.exp_sums};
        for (int32_t stat = 0; stat < num_stats(); ++stat) {
            load_rows(stats(stat), offsets[stat], at, count, unit.rows, F32_DATABLOCK);
        }
        load_rows(part(0), from.rows, at, count, unit.rows, HEAD_DIM);
    }

    SALS_DEVICE void load_rows(const Floats& to, int64_t from, int32_t at, int32_t count,
                               const QueryRows& rows, int32_t size) const {
        const uint32_t bytes = rows.count * size * sizeof(float);
        const int64_t stride = sfaa_part(tiling_, 1, true).maxima - sfaa_part(tiling_, 0, true).maxima;
        const AscendC::DataCopyExtParams parts(count, bytes, stride - bytes, 0, 0);
        DataCopyPad(to[at * rows.count * size],
                    global_tensor<float>(workspace_ + from)[static_cast<uint64_t>(rows.begin) * size], parts,
                    AscendC::DataCopyPadExtParams<float>());
    }

    // exp(m_p - m) in the place of m_p.
    SALS_DEVICE void find_factors(const Floats& x, const Floats& maxima, int32_t parts, int32_t rows) {
        const int32_t lanes = rows * F32_DATABLOCK;
        const uint8_t stride = static_cast<uint8_t>(rows);
        DataCopy(maxima, x, static_cast<uint32_t>(parts * lanes));
        fold<Fold::MAX>(maxima, parts, lanes);
        AscendC::PipeBarrier<PIPE_V>();
        Sub(x, x, maxima, lanes, parts, AscendC::BinaryRepeatParams(1, 1, 1, stride, stride, 0));
        AscendC::PipeBarrier<PIPE_V>();
        Exp(x, x, parts * lanes);
    }

    // x[0][...] becomes the fold of all x[part][...].
    template <Fold FOLD>
    SALS_DEVICE static void fold(const Floats& x, int32_t parts, int32_t size) {
        while (parts > 1) {
            const int32_t half = parts / 2;
            const Floats later = x[(parts - half) * size];
            AscendC::PipeBarrier<PIPE_V>();
            if constexpr (FOLD == Fold::MAX) {
                Max(x, x, later, half * size);
            } else {
                Add(x, x, later, half * size);
            }
            parts -= half;
        }
    }

    const VectorMemory& memory_;
    const SfaaTiling& tiling_;
    OutputRows<HEAD_DIM, Output>& rows_;
    const ListTable& lists_;
    const PlanReader& plan_;
    GM_ADDR workspace_;
    AscendC::GlobalTensor<float> gm_value_scale_;
};

}  // namespace sals::sfaa
