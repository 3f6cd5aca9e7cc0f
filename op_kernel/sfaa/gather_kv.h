// SPDX-License-Identifier: Apache-2.0
// gather_kv.h - cube stage: keys and values of a task's tokens to L1, in list order.
// Runs on   AIC
// Path      key_cache, value_cache --MTE2--> l1_keys, l1_values [head_dim/32][task tokens][32]
// Reads     block_ids, block_table by the scalar unit   caches, see kv_layout.h
// Hands to  qk_matmul.h and pv_matmul.h, by L1_KV_FULL / L1_KV_EMPTY
// Consecutive tokens of a page are one DMA, also when they belong to several blocks: neither the number of
// DMAs nor the layout changes where a byte goes. A column group that reaches beyond its page is completed
// with its last token; such columns are masked.
#pragma once
#include "sfaa/cache_pages.h"
#include "sfaa/cube_memory.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM, SfaaCacheForm FORM>
class GatherKv {
public:
    SALS_DEVICE GatherKv(CubeMemory& memory, const BlockList& list, const SfaaTiling& tiling,
                         const Arguments& args)
        : memory_(memory), list_(list), cache_(cache_shape(tiling)), pages_(tiling, args) {
        gm_keys_ = global_tensor<int8_t>(args.key_cache);
        gm_values_ = global_tensor<int8_t>(FORM == SfaaCacheForm::TWINS ? args.key_cache : args.value_cache);
    }

    // Finds the stretches of a task, while earlier tasks are being fetched.
    SALS_DEVICE void plan(const Task& task) {
        const int32_t request = task.pass.row.request;
        int64_t line = -1;
        int32_t runs = 0;
        list_.for_each_run(task.pass.row, task.pass.visible, task.slots, [&](const TokenRun& run) {
            pages_.preload(request, run.position, line);
            stretches_[runs++] = {{0, run.position}, run.column, run.columns};
        });
        num_stretches_ = 0;
        for (int32_t i = 0; i < runs; ++i) {
            const Stretch& run = stretches_[i];
            append({pages_.place(request, run.first.offset), run.column, run.columns});
        }
    }

    // Fetches the first half of the planned task, before the cube core has to wait for anything.
    SALS_DEVICE void begin(const Task& task) {
        WaitFlag<HardEvent::MTE1_MTE2>(L1_KV_EMPTY + task.number % SFAA_KV_SLOTS);
        for (fetched_ = 0; fetched_ < (num_stretches_ + 1) / 2; ++fetched_) fetch(task, stretches_[fetched_]);
    }

    // Fetches the rest.
    SALS_DEVICE void end(const Task& task) {
        for (; fetched_ < num_stretches_; ++fetched_) fetch(task, stretches_[fetched_]);
        SetFlag<HardEvent::MTE2_MTE1>(L1_KV_FULL + task.number % SFAA_KV_SLOTS);
    }

private:
    using HardEvent = AscendC::HardEvent;
    static constexpr int32_t TASK_TOKENS = sfaa_task_tokens(HEAD_DIM);
    static constexpr int32_t PLANES = HEAD_DIM / PLANE_BYTES;
    static constexpr int32_t WORD = sizeof(int32_t);
    static constexpr int32_t PLANE_WORDS = PLANE_BYTES / WORD;
    static constexpr int32_t TWIN_WORDS = SFAA_TASK_BYTES / WORD;  // from keys to values in L1

    // Consecutive tokens of a page in consecutive columns.
    struct Stretch {
        PagePlace first;
        int32_t column;
        int32_t columns;
    };

    SALS_DEVICE void append(const Stretch& run) {
        if (num_stretches_ > 0) {
            Stretch& last = stretches_[num_stretches_ - 1];
            const bool continues =
                run.first.page == last.first.page && run.first.offset == last.first.offset + last.columns;
            if (continues) {
                last.columns += run.columns;
                return;
            }
        }
        stretches_[num_stretches_++] = run;
    }

    SALS_DEVICE void fetch(const Task& task, const Stretch& stretch) {
        const int32_t in_page = smaller(stretch.columns, pages_.page_size() - stretch.first.offset);
        copy(task, stretch.first, stretch.column, in_page);
        const PagePlace last = {stretch.first.page, stretch.first.offset + in_page - 1};
        for (int32_t i = in_page; i < stretch.columns; ++i) copy(task, last, stretch.column + i, 1);
    }

    SALS_DEVICE void copy(const Task& task, const PagePlace& first, int32_t column, int32_t count) {
        const RowGeometry keys = row_geometry(cache_, first.page, task.pass.row.head, false);
        const AscendC::Nd2NzParams params = copy_params(keys, count);
        const int32_t at = column * static_cast<int32_t>(PLANE_BYTES);
        copy_rows(memory_.l1_keys(task.number)[at], gm_keys_, keys.base + first.offset * keys.token_stride,
                  params);
        if constexpr (FORM != SfaaCacheForm::TWINS) {
            const RowGeometry values = row_geometry(cache_, first.page, task.pass.row.head, true);
            copy_rows(memory_.l1_values(task.number)[at], gm_values_,
                      values.base + first.offset * values.token_stride, params);
        }
    }

    // All as int32, whose C0 is 32 bytes like that of any type: strides reach four times as far.
    SALS_DEVICE AscendC::Nd2NzParams copy_params(const RowGeometry& rows, int32_t count) const {
        AscendC::Nd2NzParams params;
        params.ndNum = 1;
        params.srcNdMatrixStride = 0;
        params.dstNzMatrixStride = 0;
        if constexpr (FORM == SfaaCacheForm::ROWS) {  // a row is a token
            params.nValue = count;
            params.dValue = HEAD_DIM / WORD;
            params.srcDValue = static_cast<uint16_t>(rows.token_stride / WORD);
            params.dstNzC0Stride = TASK_TOKENS;
            params.dstNzNStride = 1;
        } else {  // a row is a plane of tokens
            params.nValue = PLANES;
            params.dValue = count * PLANE_WORDS;
            params.srcDValue = static_cast<uint16_t>(rows.plane_stride / WORD);
            params.dstNzC0Stride = 1;
            params.dstNzNStride = TASK_TOKENS;
        }
        if constexpr (FORM == SfaaCacheForm::TWINS) {  // keys, then values
            params.ndNum = 2;
            params.srcNdMatrixStride = static_cast<uint16_t>(rows.plane_stride * PLANES / WORD);
            params.dstNzMatrixStride = TWIN_WORDS;
        }
        return params;
    }

    SALS_DEVICE static void copy_rows(const AscendC::LocalTensor<int8_t>& l1,
                                      const AscendC::GlobalTensor<int8_t>& gm, int64_t offset,
                                      const AscendC::Nd2NzParams& params) {
        DataCopy(l1.template ReinterpretCast<int32_t>(), CubeMemory::words_at(gm, offset), params);
    }

    CubeMemory& memory_;
    const BlockList& list_;
    CacheShape cache_;
    CachePages pages_;
    AscendC::GlobalTensor<int8_t> gm_keys_, gm_values_;
    Stretch stretches_[TASK_TOKENS / SFAA_COLUMN_GROUP];  // of the planned task
    int32_t num_stretches_ = 0;
    int32_t fetched_ = 0;
};

}  // namespace sals::sfaa
