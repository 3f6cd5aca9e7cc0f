// SPDX-License-Identifier: Apache-2.0
// qsi_launch.h - from a checked indexer problem to the launch of the kernel. Host only.
#pragma once
#include <string>

#include "sals/qsi_policy.h"
#include "sals/qsi_problem.h"
#include "sals/qsi_tiling.h"

namespace sals {

// What the kernel cannot do although the operator can.
inline Status check_on_device(const char* op, const QsiProblem& p) {
    Checker check(op);
    check.require(
        is_device_rank(p.rank),
        "query must have rank 64, 128 or 256 on an NPU (pad with zeros), got rank " + std::to_string(p.rank));
    const int64_t n = larger(
        num_blocks(p.max_seq_len, p.selection.block_size) - p.selection.sink_blocks - p.selection.tail_blocks,
        int64_t{0});
    const int64_t k = max_selected_candidates(n, p.selection);
    check.require(p.order == SelectionOrder::INDEX || k <= QSI_SORTED_BLOCKS,
                  "order must be index on an NPU where more than " + std::to_string(QSI_SORTED_BLOCKS) +
                      " candidates may be kept, got score with " + std::to_string(k));
    // ROWS keys are fetched as int32 with a 16-bit stride.
    const int64_t stride_words = is_token_major(p.cache.layout) ? p.n_idx * p.rank / RANK_MULTIPLE : 0;
    check.require(stride_words <= UINT16_MAX,
                  "key_cache must have n_idx * rank/8 <= 65535 in layout PA_BSND or BSND "
                  "on an NPU, got " +
                      std::to_string(stride_words));
    return check.status();
}

inline QsiTiling make_qsi_tiling(const QsiProblem& p, int64_t num_cores) {
    const bool paged = is_paged(p.cache.layout);
    const int64_t table_tokens = (paged ? p.max_pages : 1) * p.cache.page_size;
    const int64_t capacity = p.cache.num_pages > 0 ? table_tokens : 0;
    const int64_t max_visible = smaller(p.max_seq_len, capacity);
    const BlockRange candidates = candidate_blocks(max_visible, p.selection);
    QsiTiling t{};
    t.query_layout = static_cast<int32_t>(p.axis.layout);
    t.batch = static_cast<int32_t>(p.axis.batch);
    t.s_q = static_cast<int32_t>(p.axis.s_q);
    t.tokens = static_cast<int32_t>(p.axis.tokens);
    t.n_idx = static_cast<int32_t>(p.n_idx);
    t.cache_layout = static_cast<int32_t>(p.cache.layout);
    t.rank = static_cast<int32_t>(p.rank);
    t.num_pages = static_cast<int32_t>(p.cache.num_pages);
    t.page_size = static_cast<int32_t>(p.cache.page_size);
    t.max_pages = static_cast<int32_t>(p.max_pages);
    t.max_visible = static_cast<int32_t>(max_visible);
    t.order = static_cast<int32_t>(p.order);
    t.block_size = static_cast<int32_t>(p.selection.block_size);
    t.keep_num = static_cast<int32_t>(p.selection.keep_num);
    t.keep_den = static_cast<int32_t>(p.selection.keep_den);
    t.min_blocks = static_cast<int32_t>(p.selection.min_blocks);
    t.max_blocks = static_cast<int32_t>(p.selection.max_blocks);
    t.coverage_q = static_cast<int32_t>(p.selection.coverage_q);
    t.sink_blocks = static_cast<int32_t>(p.selection.sink_blocks);
    t.tail_blocks = static_cast<int32_t>(p.selection.tail_blocks);
    t.width = static_cast<int32_t>(p.width);
    t.max_candidates = static_cast<int32_t>(candidates.end - candidates.begin);
    t.num_cores = static_cast<int32_t>(num_cores);
    t.uses_sync_all = 1;
    return t;
}

}  // namespace sals
