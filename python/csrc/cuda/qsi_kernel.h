// SPDX-License-Identifier: Apache-2.0
// qsi_kernel.h - kernel one: block scores and, by the thread block that finishes a row last, the choice.
#pragma once
#include "cuda/qsi_share.h"
#include "cuda/select.h"

namespace sals::cuda {

inline constexpr int QSI_BLOCKS_PER_SM = 2;

inline constexpr int FINISHED_ROWS = 64;  // that a thread block may put off

// A row as its kernel sees it.
struct RowTask {
    int32_t request, visible;
    int32_t begin, end;  // blocks to score
};

struct QsiMemory {
    int64_t share_begins[QSI_THREADS];
    uint64_t share_scratch[QSI_WARPS];
    int32_t is_last;
    int32_t finished[FINISHED_ROWS];
    union {
        float logits[QSI_WARPS][STEP_TOKENS];
        SelectMemory select;
    };
};

SALS_DEVICE RowTask row_task(const QsiArguments& a, int32_t row) {
    const TokenRow token = token_row(a.requests, row / a.tiling.n_idx);
    const int32_t visible = visible_of(a.requests, token);
    const BlockSpan blocks = scored_blocks(a, visible);
    return {token.request, visible, blocks.begin, blocks.end};
}

template <class Dots>
SALS_DEVICE void score_part(const QsiArguments& a, const RowTask& task, const RowPart& part, float* logits) {
    if (task.begin == task.end) return;
    const ScoreRow score = {a,
                            PageDivider(a.requests.page_size),
                            task.request,
                            part.row % a.tiling.n_idx,
                            task.visible,
                            a.query + static_cast<int64_t>(part.row) * (a.tiling.rank / INT4_PER_WORD),
                            a.query_scale[part.row]};
    const Dots dots(score);
    const int32_t step_blocks = STEP_TOKENS / a.tiling.block_size;
    float* scores = a.scores + part.row * a.score_stride - (a.selected_lens == nullptr ? 0 : task.begin);
    for (int32_t step = part.steps.begin + warp_index(); step < part.steps.end; step += QSI_WARPS) {
        const int32_t first_block = step * step_blocks;
        if (first_block >= task.end) break;  // an older token of the request sees less
        dots.logits(step * STEP_TOKENS, logits);
        sync_warp();
        reduce_blocks(logits, a.tiling.block_size, [&](int32_t block, float score_of_block) {
            const int32_t id = first_block + block;
            if (id >= task.begin && id < task.end) scores[id] = score_of_block;
        });
        sync_warp();
    }
}

// budget_blocks() without a division of 64-bit integers, which takes as long as a pass over the keys:
// products below 2^53 are exact as doubles, and so is the correction of their quotient.
SALS_DEVICE int64_t budget_of(int32_t n, const SelectionParams& p) {
    const int64_t product = n * p.keep_num;
    auto quotient = static_cast<int64_t>(static_cast<double>(product) / static_cast<double>(p.keep_den));
    while (quotient * p.keep_den < product) ++quotient;
    while ((quotient - 1) * p.keep_den >= product) --quotient;
    return clamp_budget<int64_t>(quotient, n, p);
}

SALS_DEVICE_CALL void select_row(const QsiArguments& a, const RowTask& task, int32_t row,
                                 SelectMemory& memory, unsigned char* room) {
    const SelectionParams params = selection_params(a.tiling);
    const int32_t n = task.end - task.begin;
    int32_t* ids = a.block_ids + static_cast<int64_t>(row) * a.tiling.width;
    int64_t k = 0;
    if (n > 0 && a.tiling.max_blocks > 0) {
        Selector selector(memory, a.scores + row * a.score_stride, n);
        k = budget_of(n, params);
        if (params.coverage_q > 0) {
            k = clamp_budget<int64_t>(selector.coverage_count(params.coverage_q), n, params);
        }
        const Cut kept = k == 0 ? Cut{UINT32_MAX, 0} : k < n ? selector.cut_by_count(k) : Cut{0, 0};
        if (a.tiling.order == static_cast<int32_t>(SelectionOrder::SCORE)) {
            auto* pairs = reinterpret_cast<uint64_t*>(room);
            selector.take(kept, [&](int32_t place, int32_t i, uint32_t key) {
                pairs[place] = static_cast<uint64_t>(~key) << 32 | static_cast<uint32_t>(i);
            });
            sort_pairs(pairs, static_cast<int32_t>(k));
            for (int32_t i = thread_index(); i < k; i += QSI_THREADS) {
                ids[task.begin + i] = task.begin + static_cast<int32_t>(pairs[i] & UINT32_MAX);
            }
        } else {
            selector.take(
                kept, [&](int32_t place, int32_t i, uint32_t) { ids[task.begin + place] = task.begin + i; });
        }
    }
    const auto kept = static_cast<int32_t>(k);
    const int32_t blocks = blocks_of(a, task.visible);
    for (int32_t i = thread_index(); i < a.tiling.width; i += QSI_THREADS) {
        const int32_t behind = i - task.begin - kept;
        if (behind >= 0) ids[i] = task.end + behind < blocks ? task.end + behind : INVALID_BLOCK;
        if (i < task.begin) ids[i] = i;
    }
    if (thread_index() == 0) {
        // selected_tokens(): only the row's last block can be partial.
        a.selected_lens[row] = task.visible - (n - kept) * a.tiling.block_size;
    }
}

// The blocks that a row does not have, for block_scores; by whoever has the row's first steps.
SALS_DEVICE void fill_missing(const QsiArguments& a, const RowTask& task, const RowPart& part) {
    if (part.steps.begin != 0) return;
    float* scores = a.scores + part.row * a.score_stride;
    for (int64_t id = task.end + thread_index(); id < a.score_stride; id += QSI_THREADS)
        scores[id] = -infinity();
}

// Rows that this thread block finished last are chosen from at the end of its share: other blocks wait for
// its scores, nobody for its choice.
template <class Dots>
SALS_DEVICE void qsi_body(const QsiArguments& a) {
    auto& memory = *reinterpret_cast<QsiMemory*>(dynamic_shared());
    unsigned char* room = dynamic_shared() + sizeof(QsiMemory);
    int32_t finished = 0;
    const auto choose = [&] {
        for (; finished > 0; --finished) {
            sync_block();
            const int32_t row = memory.finished[finished - 1];
            select_row(a, row_task(a, row), row, memory.select, room);
        }
        sync_block();  // the logits of the next row take their place
    };
    Shares shares(a, memory.share_begins, memory.share_scratch);
    for (RowPart part; shares.next(part);) {
        const RowTask task = row_task(a, part.row);
        score_part<Dots>(a, task, part, memory.logits[warp_index()]);
        if (a.selected_lens == nullptr) {
            fill_missing(a, task, part);
        } else if (is_last_of(a.arrivals + part.row, part.parts, &memory.is_last)) {
            if (thread_index() == 0) memory.finished[finished] = part.row;
            if (++finished == FINISHED_ROWS) choose();
        }
    }
    choose();
}

template <int CHUNKS, bool ONE_PAGE>
SALS_KERNEL(QSI_THREADS, QSI_BLOCKS_PER_SM)
qsi_kernel(SALS_PARAMETER QsiArguments a) {
    qsi_body<WideDots<CHUNKS, ONE_PAGE>>(a);
}

SALS_KERNEL(QSI_THREADS, QSI_BLOCKS_PER_SM)
qsi_kernel_narrow(SALS_PARAMETER QsiArguments a) { qsi_body<NarrowDots>(a); }

}  // namespace sals::cuda
