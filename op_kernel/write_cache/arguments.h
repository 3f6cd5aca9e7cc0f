// SPDX-License-Identifier: Apache-2.0
// arguments.h - the tensors of one call of write_cache, as the launch passes them.
#pragma once
#include "common/tensors.h"
#include "sals/write_cache_tiling.h"

namespace sals::write_cache {

struct Arguments {
    GM_ADDR key;           // fp16, bf16 or fp32 [tokens, n_kv, head_dim]
    GM_ADDR value;         // likewise
    GM_ADDR index_key;     // likewise
    GM_ADDR projection;    // fp32 [n_idx, in_dim, rank]
    GM_ADDR slot_mapping;  // int32 [tokens]
    GM_ADDR key_cache;     // int8, see kv_layout.h
    GM_ADDR value_cache;   // likewise; null with PA_KV, whose key_cache holds the values, too
    GM_ADDR index_cache;   // int4
    GM_ADDR index_scale;   // fp32, one per token and head
    GM_ADDR key_scale;     // fp32, read: [n_kv, head_dim], or written: one per token and head
    GM_ADDR value_scale;   // likewise
};

}  // namespace sals::write_cache
