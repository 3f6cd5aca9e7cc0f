// SPDX-License-Identifier: Apache-2.0
// read_tiling.h - a tiling out of global memory, word by word through the scalar cache.
#pragma once
#include "common/tensors.h"

namespace sals {

template <class Tiling>
SALS_DEVICE Tiling read_tiling(GM_ADDR address) {
    constexpr int32_t WORDS = sizeof(Tiling) / sizeof(int32_t);
    preload_lines(address, 0, (sizeof(Tiling) - 1) / AtlasA2::CACHE_LINE_BYTES + 1);
    const AscendC::GlobalTensor<int32_t> words = global_tensor<int32_t>(address);
    Tiling tiling;
    int32_t* out = reinterpret_cast<int32_t*>(&tiling);
    for (int32_t i = 0; i < WORDS; ++i) out[i] = words.GetValue(i);
    return tiling;
}

}  // namespace sals
