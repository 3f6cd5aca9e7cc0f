// SPDX-License-Identifier: Apache-2.0
// rescale_output.h - vector stage: the weighted values of a task join those of the tasks before it; the last
// task of a pass finishes the rows.
// Runs on   both vector cores of a group, a share of the rows each
// Path      ws_products --MTE2--> ub_products --V--> ub_rows, see output_rows.h
// Takes     ws_products [terms][rows of the pass][head_dim] int32, by C2V_PRODUCTS_FULL
#pragma once
#include "sfaa/output_rows.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM, class Output>
class RescaleOutput {
public:
    SALS_DEVICE RescaleOutput(const VectorMemory& memory, OutputRows<HEAD_DIM, Output>& rows,
                              const Arguments& args, GM_ADDR exchange, int32_t core)
        : memory_(memory),
          tiling_(memory.tiling()),
          rows_(rows),
          rings_(sfaa_rings(tiling_)),
          exchange_(exchange),
          workspace_(args.workspace),
          core_(core) {
        gm_value_scale_ = global_tensor<float>(args.value_scale);
    }

    SALS_DEVICE void open() { SetFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY); }
    SALS_DEVICE void close() { WaitFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY); }

    SALS_DEVICE void fetch(const Task& task) {
        const RowShare share = memory_.share(task.pass);
        CrossCoreWaitFlag(C2V_PRODUCTS_FULL);
        if (share.count > 0) load(task, share);
    }

    SALS_DEVICE void run(const Task& task) {
        const RowShare share = memory_.share(task.pass);
        if (share.count == 0) return;
        rows_.merge_stats(memory_.task_stats(task.number), share.count, task.begins_pass);
        if (!task.begins_pass) spread_task_factors(task, share.count);
        add_products(task, share.count);
        if (task.ends_pass) finish(task.pass, share);
        SetFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
    }

    // A pass without tokens.
    SALS_DEVICE void run_empty(const Pass& pass, float lowest_maximum) {
        const RowShare share = memory_.share(pass);
        if (share.count == 0) return;
        const QueryRows rows = {pass.query_begin + share.begin, share.count};
        if (pass.is_cut) {
            rows_.write_empty_part(workspace_, part_of(pass), rows, lowest_maximum);
        } else {
            rows_.write_empty(pass.row, rows);
        }
    }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE SfaaPart part_of(const Pass& pass) const {
        return sfaa_part(tiling_, core_, pass.begins_inside);
    }

    SALS_DEVICE AscendC::LocalTensor<int32_t> products(uint32_t offset) const {
        return memory_.part<int32_t>(offsetof(UbPlan, products) + offset);
    }

    // The products of a task, and with the first the scales of the row's channels.
    SALS_DEVICE void load(const Task& task, const RowShare& share) {
        const auto from = global_tensor<int32_t>(exchange_ + rings_.products(task.number % SFAA_RING_SLOTS));
        const uint32_t values = share.count * HEAD_DIM;
        WaitFlag<HardEvent::V_MTE2>(UB_PRODUCTS_EMPTY);
        if (task.begins_pass && tiling_.static_scales) {
            DataCopy(rows_.channels(), gm_value_scale_[static_cast<uint64_t>(task.pass.row.head) * HEAD_DIM],
                     static_cast<uint32_t>(HEAD_DIM));
        }
        DataCopy(products(offsetof(ProductsPlan, first)), from[static_cast<uint64_t>(share.begin * HEAD_DIM)],
                 values);
        DataCopy(products(offsetof(ProductsPlan, second)),
                 from[static_cast<uint64_t>((task.pass.query_rows + share.begin) * HEAD_DIM)], values);
        SetFlag<HardEvent::MTE2_V>(UB_PRODUCTS_FULL);
    }

    SALS_DEVICE void spread_task_factors(const Task& task, int32_t rows) {
        if (!tiling_.static_scales) {
            Mul(memory_.per_row(1), memory_.per_row(1), memory_.value_factors(task.number), rows);
        }
        rows_.spread_factors(rows);
    }

    SALS_DEVICE void add_products(const Task& task, int32_t rows) {
        WaitFlag<HardEvent::MTE2_V>(UB_PRODUCTS_FULL);
        const Floats x = floats_of(products(offsetof(ProductsPlan, first)), rows * HEAD_DIM);
        join_terms(x, floats_of(products(offsetof(ProductsPlan, second)), rows * HEAD_DIM), rows * HEAD_DIM);
        if (task.begins_pass && !tiling_.static_scales) {
            spread_rows(memory_.lanes(1), memory_.value_factors(task.number), rows);
            multiply_rows(x, memory_.lanes(1), {rows, HEAD_DIM});
        }
        rows_.merge_values(x, rows, task.begins_pass);
    }

    SALS_DEVICE void finish(const Pass& pass, const RowShare& share) {
        const QueryRows rows = {pass.query_begin + share.begin, share.count};
        if (pass.is_cut) {
            rows_.finish_part(workspace_, part_of(pass), rows);
        } else {
            rows_.finish(pass.row, rows);
        }
    }

    const VectorMemory& memory_;
    const SfaaTiling& tiling_;
    OutputRows<HEAD_DIM, Output>& rows_;
    SfaaRings rings_;
    GM_ADDR exchange_;  // rings of this core group
    GM_ADDR workspace_;
    int32_t core_;
    AscendC::GlobalTensor<float> gm_value_scale_;
};

}  // namespace sals::sfaa
