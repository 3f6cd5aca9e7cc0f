// SPDX-License-Identifier: Apache-2.0
// write_cache_tiling.h - what the host tells the kernel of write_cache. Slots are data: the kernel skips
// those outside [0, num_slots).
#pragma once
#include <cstdint>
#include <type_traits>

#include "sals/cache_policy.h"
#include "sals/kv_layout.h"

namespace sals {

struct WriteCacheTiling {
    // tokens
    int32_t dtype;  // VectorDType of key, value and index_key
    int32_t tokens;
    int32_t n_kv;
    int32_t head_dim;
    // projection
    int32_t n_idx;
    int32_t heads_per_index;  // KV heads joined in one latent
    int32_t rank;
    // caches
    int32_t kv_layout;     // KvLayout
    int32_t index_layout;  // KvLayout
    int32_t num_pages;
    int32_t page_size;
    int32_t num_slots;      // of all pages, as far as int32 reaches
    int32_t row_bytes;      // of a key or value: head_dim, or more, padded with zeros
    int32_t static_scales;  // per channel instead of per token and head
};

static_assert(std::is_trivially_copyable_v<WriteCacheTiling>);
static_assert(sizeof(WriteCacheTiling) % sizeof(int32_t) == 0, "the kernel copies the tiling word by word");

SALS_HD CacheShape kv_cache_shape(const WriteCacheTiling& t) {
    return {static_cast<KvLayout>(t.kv_layout), t.num_pages, t.n_kv, t.page_size, t.row_bytes};
}

SALS_HD CacheShape index_cache_shape(const WriteCacheTiling& t) {
    return {static_cast<KvLayout>(t.index_layout), t.num_pages, t.n_idx, t.page_size, t.rank / 2};
}

}  // namespace sals
