// SPDX-License-Identifier: Apache-2.0
// arguments.h - the tensors of one call of the attention kernel, as the launch passes them.
#pragma once
#include "common/tensors.h"
#include "sals/sfaa_tiling.h"

namespace sals::sfaa {

struct Arguments {
    GM_ADDR query;            // fp16 or bf16 [tokens, n_q, head_dim]
    GM_ADDR key_cache;        // int8, see kv_layout.h
    GM_ADDR value_cache;      // likewise, null with PA_KV
    GM_ADDR key_scale;        // fp32 [n_kv, head_dim], or one per token and head
    GM_ADDR value_scale;      // likewise
    GM_ADDR block_ids;        // int32 [list tokens, list_heads, width]
    GM_ADDR seq_lens;         // int32 [batch]
    GM_ADDR query_lens;       // int32 [batch] or null
    GM_ADDR query_start_loc;  // int32 [batch + 1], null in BSND
    GM_ADDR block_table;      // int32 [batch, max_pages], null for dense caches
    GM_ADDR plan;             // int32 [PLAN_WORDS] or null
    GM_ADDR out;              // as the query
    GM_ADDR lse;              // fp32 [tokens, n_q] or null
    GM_ADDR workspace;        // see workspace.h
};

SALS_DEVICE SfaaTiling read_tiling(GM_ADDR address) {
    const AscendC::GlobalTensor<int32_t> words = global_tensor<int32_t>(address);
    SfaaTiling tiling;
    int32_t* out = reinterpret_cast<int32_t*>(&tiling);
    for (int32_t i = 0; i < SFAA_TILING_WORDS; ++i) out[i] = words.GetValue(i);
    return tiling;
}

}  // namespace sals::sfaa
