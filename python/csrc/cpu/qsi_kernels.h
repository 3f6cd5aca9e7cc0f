// SPDX-License-Identifier: Apache-2.0
// qsi_kernels.h - the inner loops of the indexer, one set per instruction set. All sets give the same bits.
#pragma once
#include <cstdint>

#include "sals/limits.h"

namespace sals::cpu {

// An index query, split as the nibbles of a key byte are: even elements, times 16, stand against low nibbles,
// odd elements against high nibbles. Zeros stand behind the rank.
struct Int4Query {
    alignas(64) int8_t even[MAX_RANK / 2];
    alignas(64) int8_t odd[MAX_RANK / 2];
    int32_t sum;        // of the elements: keys are multiplied as code + 8, and 8 * sum taken off again
    int32_t row_bytes;  // rank / 2
};

// One index head of one request, and the query that scores it. Byte x of the row of token t is
// rows[pages[t / page_size] * page_step + t % page_size * token_step + x / 32 * plane_step + x % 32].
struct ScoreTask {
    Int4Query query;
    float query_scale;
    const uint8_t* rows;
    int64_t page_step, token_step, plane_step;
    const float* scales;
    int64_t scale_page_step, scale_token_step;
    const int32_t* pages;  // null: one page
    int64_t page_size;
    int64_t block_size;
    int64_t visible;  // tokens
};

struct KeyRange {
    int32_t lowest;
    int32_t highest;
};

// Keys are order_key() with the top bit flipped, so that they compare as signed integers. Arrays of keys and
// masses have room for whole vectors: padded_keys(n) elements, the last ones PAD_KEY with mass 0.
inline constexpr int32_t PAD_KEY = INT32_MIN;  // below the key of any score
inline constexpr int64_t KEY_LANES = 16;

struct QsiKernels {
    // scores[i] of block begin + i, for blocks in [begin, end) that have visible tokens.
    void (*score_blocks)(const ScoreTask& task, int64_t begin, int64_t end, float* scores);
    KeyRange (*order_keys)(const float* scores, int64_t n, int32_t* keys);
    int64_t (*count_above)(const int32_t* keys, int64_t n, int32_t threshold);
    // Coverage masses against the best key; their sum is returned.
    int64_t (*masses)(const int32_t* keys, int64_t n, int32_t highest, int32_t* masses);
    int64_t (*mass_above)(const int32_t* keys, const int32_t* masses, int64_t n, int32_t threshold);
    // first_id + i, ascending, for keys above the threshold and the first `ties` keys equal to it; returns
    // how many. ids has KEY_LANES elements to spare.
    int64_t (*take)(const int32_t* keys, int64_t n, int32_t threshold, int64_t ties, int32_t first_id,
                    int32_t* ids);
};

namespace portable {
extern const QsiKernels QSI_KERNELS;
}
namespace avx2 {
extern const QsiKernels QSI_KERNELS;
}
namespace avx512 {
extern const QsiKernels QSI_KERNELS;
}

// The set for simd_level().
const QsiKernels& qsi_kernels();

}  // namespace sals::cpu
