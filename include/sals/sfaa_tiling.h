// SPDX-License-Identifier: Apache-2.0
// sfaa_tiling.h - what the host tells the attention kernel. What tensors hold is read on the device, where it
// cannot raise. There the kernel
//     - clamps the visible tokens of a request to [0, max_visible], which no table or cache exceeds,
//     - clamps page numbers to [0, num_pages),
//     - skips block ids that are negative or begin beyond what the list may see,
//     - ignores query_lens beyond s_q,
//     - refuses a plan that was made for other cores, rows or tiles, or whose boundaries are not ascending:
//       SALS_ASSERT fails and all rows are written as if they saw nothing.
#pragma once
#include <cstdint>
#include <type_traits>

#include "sals/kv_layout.h"
#include "sals/limits.h"
#include "sals/selection.h"
#include "sals/sfaa_policy.h"

namespace sals {

enum class SfaaDType : int32_t { FLOAT16 = 0, BFLOAT16 = 1 };  // of query and output

struct SfaaTiling {
    // query
    int32_t query_layout;  // QueryLayout
    int32_t dtype;         // SfaaDType
    int32_t batch;
    int32_t s_q;     // BSND: query tokens of a request
    int32_t tokens;  // token rows: batch * s_q, or all tokens of TND
    int32_t n_kv;
    int32_t group;  // query heads of a KV head
    int32_t head_dim;
    // lists
    int32_t is_shared;   // one list serves all query tokens of a request
    int32_t list_heads;  // n_kv, or 1 for a list that serves all heads
    int32_t width;       // columns of block_ids
    int32_t block_size;
    int32_t is_causal;
    // cache
    int32_t cache_layout;  // KvLayout
    int32_t num_pages;
    int32_t page_size;
    int32_t max_pages;      // columns of block_table
    int32_t max_visible;    // tokens of one request that fit its table
    int32_t static_scales;  // per channel instead of per token and head
    // result
    float scale;
    int32_t returns_lse;
    // gather
    int32_t joins_runs;       // consecutive tokens of a page are fetched together
    int32_t joins_pairs;      // so are two stretches within reach of a stride
    int32_t touched_percent;  // of a task, read by vector cores ahead of the cube core, into the L2
    // schedule
    int32_t preloads;  // tasks overlap; else the cores go through them one by one, to compare with
    // launch
    int32_t num_cores;
    int32_t
        uses_sync_all;  // the launch needs batch scheduling: a plan may cut rows, and only the device knows
};

static_assert(std::is_trivially_copyable_v<SfaaTiling>);
static_assert(sizeof(SfaaTiling) % sizeof(int32_t) == 0, "the kernel copies the tiling word by word");

inline constexpr int32_t SFAA_TILING_WORDS = sizeof(SfaaTiling) / sizeof(int32_t);

SALS_HD CacheShape cache_shape(const SfaaTiling& t) {
    return {static_cast<KvLayout>(t.cache_layout), t.num_pages, t.n_kv, t.page_size, t.head_dim};
}

SALS_HD int32_t sfaa_list_tokens(const SfaaTiling& t) { return t.is_shared ? t.batch : t.tokens; }
SALS_HD int32_t sfaa_rows(const SfaaTiling& t) { return sfaa_list_tokens(t) * t.n_kv; }

// Query rows of a list row, and how many of them go through the list together.
SALS_HD int32_t sfaa_query_rows(const SfaaTiling& t) { return t.group * (t.is_shared ? t.s_q : 1); }
SALS_HD int32_t sfaa_pass_rows(const SfaaTiling& t) {
    const int32_t rows = sfaa_query_rows(t);
    const int32_t most = sfaa_pass_rows(t.head_dim);
    return rows < most ? rows : most;
}

}  // namespace sals
