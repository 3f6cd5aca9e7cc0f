// SPDX-License-Identifier: Apache-2.0
// touch_kv.h - vector stage: reads some of a task's keys and values ahead of the cube core, and drops them:
// the cube core then finds them in the L2. Runs on   vector cores: the first of a group for keys, the second
// for values Path      key_cache, value_cache --MTE2--> ub_touched, which nobody reads How much, and whether
// at all, is the tiling's choice (SfaaGather); no result depends on it.
#pragma once
#include "sfaa/cache_pages.h"
#include "sfaa/vector_memory.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM>
class TouchKv {
public:
    SALS_DEVICE TouchKv(const VectorMemory& memory, const BlockList& list, const Arguments& args,
                        int32_t half)
        : memory_(memory),
          list_(list),
          cache_(cache_shape(memory.tiling())),
          pages_(memory.tiling(), args),
          is_values_(half != 0) {
        const bool is_joint = cache_.layout == KvLayout::PA_KV;
        gm_ = global_tensor<int8_t>(is_values_ && !is_joint ? args.value_cache : args.key_cache);
    }

    // The last columns of a task, which the cube core fetches last.
    SALS_DEVICE void run(const Task& task) const {
        constexpr int32_t WHOLE = 100;
        const int32_t untouched = task.columns * (WHOLE - memory_.tiling().touched_percent) / WHOLE;
        if (untouched >= task.columns) return;
        list_.for_each_run(task.pass.row, task.pass.visible, task.slots, [&](const TokenRun& run) {
            if (run.column >= untouched) touch(task.pass.row, run);
        });
    }

private:
    static constexpr int32_t MAX_TOKENS = TOUCHED_BYTES / HEAD_DIM;
    static constexpr int32_t PLANES = HEAD_DIM / PLANE_BYTES;

    SALS_DEVICE void touch(const ListRow& row, const TokenRun& run) const {
        const PagePlace first = pages_.place(row.request, run.position);
        const RowGeometry rows = row_geometry(cache_, first.page, row.head, is_values_);
        const int32_t end = smaller(run.count, pages_.page_size() - first.offset);
        for (int32_t at = 0; at < end; at += MAX_TOKENS) {
            copy(rows.base + (first.offset + at) * rows.token_stride, rows, smaller(MAX_TOKENS, end - at));
        }
    }

    SALS_DEVICE void copy(int64_t from, const RowGeometry& rows, int32_t tokens) const {
        constexpr int32_t UNIT = AtlasA2::DATABLOCK_BYTES;
        AscendC::DataCopyParams pieces(tokens, HEAD_DIM / UNIT, (rows.token_stride - HEAD_DIM) / UNIT, 0);
        if (has_planes(cache_.layout)) {
            pieces = AscendC::DataCopyParams(PLANES, tokens, cache_.page_size - tokens, 0);
        }
        AscendC::PipeBarrier<PIPE_MTE2>();  // all go to one place
        DataCopy(memory_.part<int8_t>(offsetof(UbPlan, touched)), gm_[static_cast<uint64_t>(from)], pieces);
    }

    const VectorMemory& memory_;
    const BlockList& list_;
    CacheShape cache_;
    CachePages pages_;
    bool is_values_;
    AscendC::GlobalTensor<int8_t> gm_;
};

}  // namespace sals::sfaa
