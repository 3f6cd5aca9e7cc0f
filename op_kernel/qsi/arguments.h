// SPDX-License-Identifier: Apache-2.0
// arguments.h - the tensors of one call of the indexer kernel, as the launch passes them.
#pragma once
#include "common/tensors.h"
#include "sals/qsi_tiling.h"

namespace sals::qsi {

struct Arguments {
    GM_ADDR query;            // int4 [tokens, n_idx, rank]
    GM_ADDR query_scale;      // fp32 [tokens, n_idx]
    GM_ADDR key_cache;        // int4, see kv_layout.h
    GM_ADDR key_scale;        // fp32
    GM_ADDR seq_lens;         // int32 [batch]
    GM_ADDR query_lens;       // int32 [batch] or null
    GM_ADDR query_start_loc;  // int32 [batch + 1], null in BSND
    GM_ADDR block_table;      // int32 [batch, max_pages], null for dense caches
    GM_ADDR plan;             // int32 [PLAN_WORDS] or null
    GM_ADDR block_ids;        // int32 [tokens, n_idx, width]
    GM_ADDR selected_lens;    // int32 [tokens, n_idx]
    GM_ADDR workspace;        // see workspace.h
};

SALS_DEVICE QsiTiling read_tiling(GM_ADDR address) {
    const AscendC::GlobalTensor<int32_t> words = global_tensor<int32_t>(address);
    QsiTiling tiling;
    int32_t* out = reinterpret_cast<int32_t*>(&tiling);
    for (int32_t i = 0; i < QSI_TILING_WORDS; ++i) out[i] = words.GetValue(i);
    return tiling;
}

}  // namespace sals::qsi
