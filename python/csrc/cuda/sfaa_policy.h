// SPDX-License-Identifier: Apache-2.0
// sfaa_policy.h - how the attention is cut. A list row is cut into splits by its width alone, so results do
// not depend on the batch. Query rows beyond a pass read the list again.
#pragma once
#include <cstdint>

#include "sals/sfaa_tiling.h"

namespace sals::cuda {

inline constexpr int SFAA_WARPS = 4;
inline constexpr int SFAA_THREADS = SFAA_WARPS * 32;
inline constexpr int TILE_TOKENS = 16;  // of one matrix product; a warp takes a tile at a time
inline constexpr int HALF_TOKENS = TILE_TOKENS / 2;
inline constexpr int BATCH_HALVES = 256;  // translated together, from one list entry by each thread
inline constexpr int SLICE_ROWS = 8;      // query rows of one matrix product

SALS_HD int32_t sfaa_pass_slices(const SfaaTiling& t) { return sfaa_query_rows(t) > SLICE_ROWS ? 2 : 1; }
SALS_HD int32_t sfaa_most_pass_rows(const SfaaTiling& t) {
    return smaller(sfaa_query_rows(t), sfaa_pass_slices(t) * SLICE_ROWS);
}
SALS_HD int32_t sfaa_passes(const SfaaTiling& t) {
    return ceil_div(sfaa_query_rows(t), sfaa_pass_slices(t) * SLICE_ROWS);
}

// List entries of a split: few in short rows, so that a small batch fills the device; more in long ones, so
// that partial results are few beside what is read.
SALS_HD int32_t sfaa_split_entries(const SfaaTiling& t) {
    const int64_t tokens = int64_t{t.width} * t.block_size;
    int32_t split_tokens = 2048;
    if (tokens <= 16384) split_tokens = 512;
    if (tokens <= 4096) split_tokens = 1024;
    if (tokens <= 2048) split_tokens = 256;
    if (tokens <= 512) split_tokens = 512;
    return larger(split_tokens / t.block_size, 1);
}
SALS_HD int32_t sfaa_splits(const SfaaTiling& t) {
    return larger(ceil_div(t.width, sfaa_split_entries(t)), 1);
}

}  // namespace sals::cuda
