// SPDX-License-Identifier: Apache-2.0
// qsi_tiling.h - what the host tells the indexer kernel. Integers only: every number that tensors hold is
// read on the device, where it cannot raise. There the kernel
//     - clamps the visible tokens of a row to [0, max_visible], which no table or cache exceeds,
//     - clamps page numbers to [0, num_pages),
//     - ignores query_lens beyond s_q, as the other implementations do,
//     - refuses a plan that was made for other cores, rows or tiles, or whose boundaries are not ascending:
//       SALS_ASSERT fails and all rows are written as empty.
#pragma once
#include <cstdint>
#include <type_traits>

#include "sals/kv_layout.h"
#include "sals/limits.h"
#include "sals/selection.h"

namespace sals {

struct QsiTiling {
    // rows
    int32_t query_layout;  // QueryLayout
    int32_t batch;
    int32_t s_q;     // BSND: query tokens of a request
    int32_t tokens;  // token rows: batch * s_q, or all tokens of TND
    int32_t n_idx;
    // cache
    int32_t cache_layout;  // KvLayout
    int32_t rank;
    int32_t num_pages;
    int32_t page_size;
    int32_t max_pages;    // columns of block_table
    int32_t max_visible;  // tokens of one request that fit its table and max_seq_len
    // selection
    int32_t order;  // SelectionOrder
    int32_t block_size;
    int32_t keep_num;
    int32_t keep_den;
    int32_t min_blocks;
    int32_t max_blocks;
    int32_t coverage_q;
    int32_t sink_blocks;
    int32_t tail_blocks;
    int32_t width;           // columns of block_ids
    int32_t max_candidates;  // of any row
    // launch
    int32_t num_cores;
    int32_t
        uses_sync_all;  // the launch needs batch scheduling: a plan may cut rows, and only the device knows
};

static_assert(std::is_trivially_copyable_v<QsiTiling>);
static_assert(sizeof(QsiTiling) % sizeof(int32_t) == 0, "the kernel copies the tiling word by word");

inline constexpr int32_t QSI_TILING_WORDS = sizeof(QsiTiling) / sizeof(int32_t);

SALS_HD SelectionParams selection_params(const QsiTiling& t) {
    SelectionParams p;
    p.block_size = t.block_size;
    p.keep_num = t.keep_num;
    p.keep_den = t.keep_den;
    p.min_blocks = t.min_blocks;
    p.max_blocks = t.max_blocks;
    p.coverage_q = t.coverage_q;
    p.sink_blocks = t.sink_blocks;
    p.tail_blocks = t.tail_blocks;
    return p;
}

SALS_HD CacheShape cache_shape(const QsiTiling& t) {
    return {static_cast<KvLayout>(t.cache_layout), t.num_pages, t.n_idx, t.page_size, t.rank / 2};
}

SALS_HD int32_t qsi_rows(const QsiTiling& t) { return t.tokens * t.n_idx; }

}  // namespace sals
