// SPDX-License-Identifier: Apache-2.0
// merge_parts.h - flash-decoding reduction: rows that the plan cut are put together from the parts that their
// cores left in the workspace, in the order of the list.
// Runs on   all vector cores, slices of MERGE_SLICE_ROWS query rows in turn; behind a SyncAll
// Path      parts --MTE2--> ub --V--> ub_rows, see output_rows.h
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

    SALS_DEVICE void run(int32_t vector_core, int32_t num_vector_cores) {
        const int32_t query_rows = sfaa_query_rows(tiling_);
        const int32_t slices = ceil_div(query_rows, SLICE_ROWS);
        const int32_t units = plan_.num_merges() * slices;
        for (int32_t unit = vector_core; unit < units; unit += num_vector_cores) {
            const int32_t begin = unit % slices * SLICE_ROWS;
            merge(plan_.merge_row(unit / slices, tiling_.num_cores),
                  {begin, smaller(SLICE_ROWS, query_rows - begin)});
        }
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr int32_t SLICE_ROWS = MERGE_SLICE_ROWS;
    static_assert(SLICE_ROWS * HEAD_DIM <= SHARE_VALUES);

    SALS_DEVICE void merge(int32_t row_index, const QueryRows& rows) {
        const ListRow row = lists_.at(row_index);
        bool begins = true;
        for (int32_t core = 0; core < tiling_.num_cores; ++core) {
            if (!plan_.has_piece(core, row_index)) continue;
            add(row, sfaa_part(tiling_, core, plan_.begins_inside(core, row_index)), rows, begins);
            begins = false;
        }
        rows_.finish(row, rows);
        SetFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
    }

    // The memory of a part is free again when the next is asked for, that of the last after finish().
    SALS_DEVICE void add(const ListRow& row, const SfaaPart& part, const QueryRows& rows, bool begins) {
        if (!begins) SetFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
        const Floats values = memory_.part<float>(offsetof(UbPlan, products) + offsetof(ProductsPlan, first));
        WaitFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
        if (begins && tiling_.static_scales) {
            DataCopy(rows_.channels(), gm_value_scale_[static_cast<uint64_t>(row.head) * HEAD_DIM],
                     static_cast<uint32_t>(HEAD_DIM));
        }
        load_stat(part.maxima, offsetof(Stats, maximum), rows);
        load_stat(part.sums, offsetof(Stats, sum), rows);
        if (tiling_.returns_lse) load_stat(part.exp_sums, offsetof(Stats, exp_sum), rows);
        DataCopy(values,
                 global_tensor<float>(workspace_ + part.rows)[static_cast<uint64_t>(rows.begin) * HEAD_DIM],
                 static_cast<uint32_t>(rows.count * HEAD_DIM));
        SetFlag<HardEvent::MTE2_V>(UB_PRODUCTS_FULL);

        WaitFlag<HardEvent::MTE2_V>(UB_PRODUCTS_FULL);
        rows_.merge_stats(memory_.task_stats(0), rows.count, begins);
        if (!begins) rows_.spread_factors(rows.count);
        rows_.merge_values(values, rows.count, begins);
    }

    SALS_DEVICE void load_stat(int64_t from, uint32_t stat, const QueryRows& rows) {
        const AscendC::DataCopyExtParams run(1, rows.count * sizeof(float), 0, 0, 0);
        DataCopyPad(memory_.part<float>(memory_.task_stats(0) + stat),
                    global_tensor<float>(workspace_ + from)[static_cast<uint64_t>(rows.begin)], run,
                    AscendC::DataCopyPadExtParams<float>());
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
