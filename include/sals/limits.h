// SPDX-License-Identifier: Apache-2.0
// limits.h - what the operators accept, and the tile sizes in which work is counted.
#pragma once
#include <cstdint>

#include "sals/portability.h"

namespace sals {

inline constexpr int32_t INVALID_BLOCK = -1;  // pads a row of block ids; skipped wherever it stands
inline constexpr int32_t INVALID_SLOT = -1;   // a token that write_cache leaves out

inline constexpr int64_t MAX_SEQ_LEN = int64_t{1} << 24;   // tokens of one request
inline constexpr int64_t MAX_KEEP_DEN = int64_t{1} << 20;  // n * keep_num stays far inside 64 bits
inline constexpr int64_t MAX_BLOCK_SIZE = 128;
inline constexpr int64_t MAX_SELECTED_BLOCKS = 8192;         // upper limit of max_blocks
inline constexpr int64_t MAX_LIST_ROWS = int64_t{1} << 22;   // query tokens * heads of one call
inline constexpr int64_t MAX_QUERY_ROWS = int64_t{1} << 16;  // query tokens * group that share a list
inline constexpr int64_t MAX_CORES = 64;                     // cores (or threads) one plan can describe

inline constexpr int64_t DEFAULT_BLOCK_SIZE = 16;
inline constexpr int64_t DEFAULT_MAX_BLOCKS = 2048;
inline constexpr int64_t DEFAULT_SINK_BLOCKS = 1;
inline constexpr int64_t DEFAULT_TAIL_BLOCKS = 32;

// Work quanta. A tile of the indexer is a whole number of blocks. A tile of the attention is a range of slots
// of a list row (slot = place in the list * block_size + token of the block); a block of 128 spans two.
inline constexpr int64_t QSI_TILE_TOKENS = 128;  // scored tokens
inline constexpr int64_t SFAA_TILE_TOKENS = 64;  // slots of a list row
inline constexpr int64_t SFAA_STEP_TOKENS =
    128;  // slots whose weights the CPU and the reference split together
inline constexpr int64_t MERGE_SLICE_ROWS = 8;  // query rows of one unit of the flash-decoding merge

inline constexpr int64_t MAX_HEAD_DIM = 256;
inline constexpr int64_t RANK_MULTIPLE = 8;  // eight int4 values fill one int32 word
inline constexpr int64_t MAX_RANK = 256;

SALS_HD bool is_supported_block_size(int64_t block_size) {
    return block_size == 8 || block_size == 16 || block_size == 32 || block_size == 64 ||
           block_size == MAX_BLOCK_SIZE;
}

SALS_HD bool is_supported_rank(int64_t rank) {
    return rank > 0 && rank <= MAX_RANK && rank % RANK_MULTIPLE == 0;
}

SALS_HD bool is_supported_head_dim(int64_t head_dim) {
    return head_dim == 64 || head_dim == 80 || head_dim == 96 || head_dim == 128 || head_dim == 192 ||
           head_dim == MAX_HEAD_DIM;
}

// The head_dim a cache row really has on the device: 64, 128 or 256. Extra channels hold zeros.
SALS_HD int64_t padded_head_dim(int64_t head_dim) {
    return head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : MAX_HEAD_DIM;
}

template <class Int>
SALS_HD Int ceil_div(const Int& a, const Int& b) {
    return (a + b - Int(1)) / b;
}

}  // namespace sals
