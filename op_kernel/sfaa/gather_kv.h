// SPDX-License-Identifier: Apache-2.0
// gather_kv.h - cube stage: keys and values of a task's tokens to L1, in list order.
// Runs on   AIC
// Path      key_cache, value_cache --MTE2--> l1_keys, l1_values [head_dim/32][task tokens][32]
// Reads     block_ids, block_table by the scalar unit   caches, see kv_layout.h
// Hands to  qk_matmul.h and pv_matmul.h, by L1_KV_FULL / L1_KV_EMPTY
// Consecutive tokens of a page are one DMA, also when they belong to several blocks; so are two stretches of
// equal length, the later one further on in the cache, within reach of a stride. Neither changes where a byte
// goes. A column group that reaches beyond its page is completed with its last token; such columns are
// masked. Why       docs/explanation/gather-study.md
#pragma once
#include "sfaa/cache_pages.h"
#include "sfaa/cube_memory.h"

namespace sals::sfaa {

template <int32_t HEAD_DIM, SfaaCacheForm FORM>
class GatherKv {
public:
    SALS_DEVICE GatherKv(CubeMemory& memory, const BlockList& list, const SfaaTiling& tiling,
                         const Arguments& args)
        : memory_(memory),
          list_(list),
          cache_(cache_shape(tiling)),
          pages_(tiling, args),
          joins_runs_(tiling.joins_runs != 0),
          joins_pairs_(tiling.joins_pairs != 0 && FORM != SfaaCacheForm::TWINS) {
        const RowGeometry origin = row_geometry(cache_, 0, 0, false);
        token_words_ = origin.token_stride / WORD;
        page_words_ = (row_geometry(cache_, 1, 0, false).base - origin.base) / WORD;
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
            stretches_[runs++] = {{0, run.position}, run.column, run.columns, ALONE};
        });
        num_stretches_ = 0;
        for (int32_t i = 0; i < runs; ++i) {
            const Stretch& run = stretches_[i];
            append({pages_.place(request, run.first.offset), run.column, run.columns, ALONE});
        }
        if (joins_pairs_) pair_up();
    }

    // Fetches some of the planned task, before the cube core has to wait for anything.
    SALS_DEVICE void begin(const Task& task) {
        WaitFlag<HardEvent::MTE1_MTE2>(L1_KV_EMPTY + task.number % SFAA_KV_SLOTS);
        fetched_ = 0;
        for (int32_t columns = 0; 100 * columns < EARLY_PERCENT * task.columns; ++fetched_) {
            columns += fetch(task, stretches_[fetched_]);
        }
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
    static constexpr int32_t EARLY_PERCENT = 30;  // of a task; weights stand behind it in the queue
    static constexpr int32_t WORD = sizeof(int32_t);
    static constexpr int32_t PLANE_WORDS = PLANE_BYTES / WORD;
    static constexpr int32_t TWIN_WORDS = SFAA_TASK_BYTES / WORD;  // from keys to values in L1

    // Partners of stretches; the index of another one is fetched with this one.
    static constexpr int32_t ALONE = -1;
    static constexpr int32_t FOLLOWS = -2;    // is fetched with an earlier one
    static constexpr int32_t PAIR_REACH = 8;  // how many later stretches are tried

    // Consecutive tokens of a page in consecutive columns.
    struct Stretch {
        PagePlace first;
        int32_t column;
        int32_t columns;
        int32_t partner;
    };

    SALS_DEVICE void append(const Stretch& run) {
        if (joins_runs_ && num_stretches_ > 0) {
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

    SALS_DEVICE void pair_up() {
        for (int32_t i = 0; i < num_stretches_; ++i) {
            if (stretches_[i].partner != ALONE) continue;
            const int32_t end = smaller(num_stretches_, i + 1 + PAIR_REACH);
            for (int32_t j = i + 1; j < end && stretches_[i].partner == ALONE; ++j) {
                if (!is_pair(stretches_[i], stretches_[j])) continue;
                stretches_[i].partner = j;
                stretches_[j].partner = FOLLOWS;
            }
        }
    }

    SALS_DEVICE bool is_pair(const Stretch& a, const Stretch& b) const {
        if (b.partner != ALONE || a.columns != b.columns || !is_in_page(a) || !is_in_page(b)) return false;
        const int64_t words = words_between(a, b);
        return words > 0 && words <= UINT16_MAX;
    }

    SALS_DEVICE bool is_in_page(const Stretch& stretch) const {
        return stretch.first.offset + stretch.columns <= pages_.page_size();
    }

    SALS_DEVICE int64_t words_between(const Stretch& a, const Stretch& b) const {
        return (b.first.page - a.first.page) * page_words_ + (b.first.offset - a.first.offset) * token_words_;
    }

    // Gives the number of columns that it fills.
    SALS_DEVICE int32_t fetch(const Task& task, const Stretch& stretch) {
        if (stretch.partner == FOLLOWS) return 0;
        const int32_t in_page = smaller(stretch.columns, pages_.page_size() - stretch.first.offset);
        AscendC::Nd2NzParams params = copy_params(in_page);
        if (stretch.partner != ALONE) {
            const Stretch& partner = stretches_[stretch.partner];
            params.ndNum = 2;
            params.srcNdMatrixStride = static_cast<uint16_t>(words_between(stretch, partner));
            params.dstNzMatrixStride = (partner.column - stretch.column) * PLANE_WORDS;
        }
        copy(task, stretch.first, stretch.column, params);
        const PagePlace last = {stretch.first.page, stretch.first.offset + in_page - 1};
        for (int32_t i = in_page; i < stretch.columns; ++i) {
            copy(task, last, stretch.column + i, copy_params(1));
        }
        return stretch.partner == ALONE ? stretch.columns : 2 * stretch.columns;
    }

    SALS_DEVICE void copy(const Task& task, const PagePlace& first, int32_t column,
                          const AscendC::Nd2NzParams& params) {
        const int32_t at = column * static_cast<int32_t>(PLANE_BYTES);
        const RowGeometry keys = row_geometry(cache_, first.page, task.pass.row.head, false);
        copy_rows(memory_.l1_keys(task.number)[at], gm_keys_, keys.base + first.offset * keys.token_stride,
                  params);
        if constexpr (FORM != SfaaCacheForm::TWINS) {
            const RowGeometry values = row_geometry(cache_, first.page, task.pass.row.head, true);
            copy_rows(memory_.l1_values(task.number)[at], gm_values_,
                      values.base + first.offset * values.token_stride, params);
        }
    }

    // All as int32, whose C0 is 32 bytes like that of any type: strides reach four times as far.
    SALS_DEVICE AscendC::Nd2NzParams copy_params(int32_t count) const {
        AscendC::Nd2NzParams params;
        params.ndNum = 1;
        params.srcNdMatrixStride = 0;
        params.dstNzMatrixStride = 0;
        if constexpr (FORM == SfaaCacheForm::ROWS) {  // a row is a token
            params.nValue = count;
            params.dValue = HEAD_DIM / WORD;
            params.srcDValue = static_cast<uint16_t>(token_words_);
            params.dstNzC0Stride = TASK_TOKENS;
            params.dstNzNStride = 1;
        } else {  // a row is a plane of tokens
            params.nValue = PLANES;
            params.dValue = count * PLANE_WORDS;
            params.srcDValue = static_cast<uint16_t>(cache_.page_size * PLANE_WORDS);
            params.dstNzC0Stride = 1;
            params.dstNzNStride = TASK_TOKENS;
        }
        if constexpr (FORM == SfaaCacheForm::TWINS) {  // keys, then values
            params.ndNum = 2;
            params.srcNdMatrixStride = static_cast<uint16_t>(cache_.page_size * PLANE_WORDS * PLANES);
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
    bool joins_runs_, joins_pairs_;
    int64_t token_words_, page_words_;  // from a token, or a page, to the next one
    AscendC::GlobalTensor<int8_t> gm_keys_, gm_values_;
    Stretch stretches_[TASK_TOKENS / SFAA_COLUMN_GROUP];  // of the planned task
    int32_t num_stretches_ = 0;
    int32_t fetched_ = 0;
};

}  // namespace sals::sfaa
