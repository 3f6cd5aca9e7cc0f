// SPDX-License-Identifier: Apache-2.0
// token_scales.h - vector stage: per-token scales of a task's columns, keys' and values'.
// Runs on   both vector cores of a group, each for itself
// Path      key_scale, value_scale --MTE2--> ub_key_scales, ub_value_scales [columns]
// Columns that are masked get zeros, or what an earlier task left: numbers in any case.
#pragma once
#include "sfaa/cache_pages.h"
#include "sfaa/vector_memory.h"

namespace sals::sfaa {

class TokenScales {
public:
    SALS_DEVICE TokenScales(const VectorMemory& memory, const BlockList& list, const Arguments& args)
        : memory_(memory), list_(list), cache_(cache_shape(memory.tiling())), pages_(memory.tiling(), args) {
        gm_key_scale_ = global_tensor<float>(args.key_scale);
        gm_value_scale_ = global_tensor<float>(args.value_scale);
    }

    SALS_DEVICE void open() {
        SetFlag<HardEvent::V_MTE2>(UB_SCALES_EMPTY);
        SetFlag<HardEvent::V_MTE2>(UB_WIDE_EMPTY);
    }

    SALS_DEVICE void close() {
        WaitFlag<HardEvent::V_MTE2>(UB_SCALES_EMPTY);
        WaitFlag<HardEvent::V_MTE2>(UB_WIDE_EMPTY);
    }

    SALS_DEVICE Floats keys() const { return part(offsetof(SoftmaxPlan, key_scales)); }
    SALS_DEVICE Floats values() const { return part(offsetof(SoftmaxPlan, value_scales)); }

    // They are there when the first chunk of scores is.
    SALS_DEVICE void load(const Task& task) {
        WaitFlag<HardEvent::V_MTE2>(UB_SCALES_EMPTY);
        list_.for_each_run(task.pass.row, task.pass.visible, task.slots, [&](const TokenRun& run) {
            const PagePlace place = pages_.place(task.pass.row.request, run.position);
            const ScaleGeometry geometry = scale_geometry(cache_, place.page, task.pass.row.head);
            const int64_t at = geometry.base + place.offset * geometry.token_stride;
            if (geometry.token_stride == 1) {
                load_run(keys(), gm_key_scale_, at, run);
                load_run(values(), gm_value_scale_, at, run);
            } else {
                load_strided(keys(), gm_key_scale_, at, geometry.token_stride, run);
                load_strided(values(), gm_value_scale_, at, geometry.token_stride, run);
            }
        });
    }

    SALS_DEVICE void release() { SetFlag<HardEvent::V_MTE2>(UB_SCALES_EMPTY); }

private:
    using HardEvent = AscendC::HardEvent;

    SALS_DEVICE Floats part(uint32_t offset) const {
        return memory_.part<float>(offsetof(UbPlan, softmax) + offset);
    }

    SALS_DEVICE static void load_run(const Floats& scales, const AscendC::GlobalTensor<float>& gm, int64_t at,
                                     const TokenRun& run) {
        const AscendC::DataCopyExtParams tokens(1, run.count * sizeof(float), 0, 0, 0);
        const uint8_t padding = static_cast<uint8_t>(run.columns - run.count);
        DataCopyPad(scales[run.column], gm[static_cast<uint64_t>(at)], tokens,
                    AscendC::DataCopyPadExtParams<float>(padding > 0, 0, padding, 0.0F));
    }

    // A scale that stands alone arrives in a datablock of its own, padded with zeros; their sum packs it.
    SALS_DEVICE void load_strided(const Floats& scales, const AscendC::GlobalTensor<float>& gm, int64_t at,
                                  int64_t stride, const TokenRun& run) {
        const Floats wide = part(offsetof(SoftmaxPlan, wide_scales));
        const AscendC::DataCopyPadExtParams<float> zeros(true, 0, F32_DATABLOCK - 1, 0.0F);
        const AscendC::DataCopyExtParams column(run.count, sizeof(float), (stride - 1) * sizeof(float), 0, 0);
        WaitFlag<HardEvent::V_MTE2>(UB_WIDE_EMPTY);
        DataCopyPad(wide, gm[static_cast<uint64_t>(at)], column, zeros);
        SetFlag<HardEvent::MTE2_V>(UB_WIDE_FULL);
        WaitFlag<HardEvent::MTE2_V>(UB_WIDE_FULL);
        AscendC::BlockReduceSum(scales[run.column], wide, run.columns / SFAA_COLUMN_GROUP, F32_LANES, 1, 1,
                                F32_DATABLOCK);
        SetFlag<HardEvent::V_MTE2>(UB_WIDE_EMPTY);
    }

    const VectorMemory& memory_;
    const BlockList& list_;
    CacheShape cache_;
    CachePages pages_;
    AscendC::GlobalTensor<float> gm_key_scale_, gm_value_scale_;
};

}  // namespace sals::sfaa
