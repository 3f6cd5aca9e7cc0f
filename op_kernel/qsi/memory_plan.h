// SPDX-License-Identifier: Apache-2.0
// memory_plan.h - who owns which byte of every memory of a core.
#pragma once
#include "common/tensors.h"
#include "sals/limits.h"
#include "sals/qsi_policy.h"

namespace sals::qsi {

inline constexpr int32_t L1_SLOTS = 4;     // steps on their way to the cube
inline constexpr int32_t L0_SLOTS = 2;     // steps in the cube
inline constexpr int32_t SHARE_SLOTS = 2;  // shares of hand-offs in a vector core
inline constexpr int32_t CHUNK_SLOTS = 2;
inline constexpr int32_t IDS_SLOTS = 2;

inline constexpr int32_t LANES = AtlasA2::REPEAT_BYTES / sizeof(float);               // of one repeat
inline constexpr int32_t DATABLOCK_LANES = AtlasA2::DATABLOCK_BYTES / sizeof(float);  // of one datablock
inline constexpr int32_t DATABLOCKS = LANES / DATABLOCK_LANES;                        // of one repeat

inline constexpr int32_t LAST_TOKENS = 1024;  // of a row, most that one vector core reduces alone
inline constexpr int32_t MIN_BLOCK_TOKENS = 8;
inline constexpr int32_t SHARE_BLOCKS = QSI_SHARE_TOKENS / MIN_BLOCK_TOKENS;
inline constexpr int32_t WIDE_TOKENS = 256;  // strided scales fetched at a time

inline constexpr int32_t CHUNK = 4096;            // scores of a row that the selection holds at a time
inline constexpr int32_t MASK_BYTES = CHUNK / 8;  // one bit per score
inline constexpr int32_t ROOM = 2 * CHUNK;        // scores of a row that a sample is taken from
inline constexpr int32_t LIST_SAMPLE = 128;       // of scores in UB
inline constexpr int32_t ROW_SAMPLE = 512;        // of a row that does not fit
inline constexpr int32_t SORT_LIMIT = 256;        // scores that are sorted rather than narrowed further
inline constexpr int32_t SORT_WIDTH = 32;         // that one Sort32 puts in order
inline constexpr int32_t MERGE_WAYS = 4;
inline constexpr int32_t SORT_RUN = SORT_WIDTH * MERGE_WAYS;  // length after the first merge
inline constexpr int32_t LADDER = QSI_SORTED_BLOCKS;
inline constexpr int32_t RECORD_WORDS = 2;  // score and index of a sorted element

struct L1Plan {
    int8_t keys[L1_SLOTS][QSI_STEP_BYTES];           // [planes][tokens rounded up to 16][32]
    int8_t query[L1_SLOTS][AtlasA2::FRACTAL_BYTES];  // [rank/2], then whatever was there
};
static_assert(sizeof(L1Plan) <= AtlasA2::L1_BYTES, "the key slots exceed L1");

struct L0aPlan {
    int8_t query[L0_SLOTS][AtlasA2::FRACTAL_BYTES];
};
struct L0bPlan {
    int8_t keys[L0_SLOTS][QSI_STEP_BYTES];
};
// A product of one row still takes whole fractals of 16 rows: 64 bytes per token.
struct L0cPlan {
    int32_t dots[L0_SLOTS][qsi_step_tokens(QSI_RANK_STEP) * AtlasA2::FRACTAL_ROWS];
};
static_assert(sizeof(L0aPlan) <= AtlasA2::L0A_BYTES && sizeof(L0bPlan) <= AtlasA2::L0B_BYTES &&
                  sizeof(L0cPlan) <= AtlasA2::L0C_BYTES,
              "a step exceeds L0");

struct ReducePlan {
    struct Share {
        int32_t dots[QSI_SHARE_TOKENS];  // then logits, then their exponentials, in place
        float scales[QSI_SHARE_TOKENS];
        float block_scores[SHARE_BLOCKS];
    } shares[SHARE_SLOTS];
    float wide_scales[WIDE_TOKENS][DATABLOCK_LANES];
    float fold[2][QSI_SHARE_TOKENS / 2];  // levels of the reduction inside blocks, in turn
    float maxima[SHARE_BLOCKS];
    float max_lanes[SHARE_BLOCKS][DATABLOCK_LANES];
    float sums[SHARE_BLOCKS];
    uint8_t
        is_number[SHARE_BLOCKS / 8 < AtlasA2::DATABLOCK_BYTES ? AtlasA2::DATABLOCK_BYTES : SHARE_BLOCKS / 8];
};

struct ThresholdPlan {
    float kept[CHUNK];     // what is left between the bounds
    float scratch[CHUNK];  // halfway between two masks
    float masses[CHUNK];   // of coverage mode
    float sample[ROW_SAMPLE];
    float records[2][ROW_SAMPLE * RECORD_WORDS];
    uint8_t mask[MASK_BYTES];
    uint8_t tie_mask[MASK_BYTES];
    uint8_t early_mask[MASK_BYTES];  // ids up to the last tie that is kept
};

static_assert(offsetof(ThresholdPlan, scratch) - offsetof(ThresholdPlan, kept) == CHUNK * sizeof(float),
              "a row is sampled in one piece of memory");

struct LadderPlan {
    float rungs[2]
               [LADDER * RECORD_WORDS];  // sorted runs of growing length, in turn; then a merge of two lists
    float fresh[LADDER * RECORD_WORDS];  // a chunk, sorted
    float best[LADDER * RECORD_WORDS];   // of all chunks so far
};

struct SelectPlan {
    float chunk[CHUNK_SLOTS][CHUNK];  // scores from global memory
    int32_t ramp[CHUNK];              // 0, 1, 2, ...
    int32_t ids[IDS_SLOTS][CHUNK];    // on their way to block_ids
    union {                           // a kernel has one policy
        ThresholdPlan threshold;
        LadderPlan ladder;
    };
    uint32_t sampled_lanes[2][DATABLOCK_LANES];  // a bit per lane of a sampled repeat, one or two a datablock
};

// Scores are written behind those of at most LADDER blocks, in whole repeats.
static_assert(LADDER + LANES <= CHUNK, "a chunk is too short");

struct UbPlan {
    SelectPlan select;  // first: sorting needs records at whole repeats
    ReducePlan reduce;
};
static_assert(sizeof(UbPlan) <= AtlasA2::UB_BYTES, "the indexer's UB plan exceeds the UB");
static_assert(offsetof(SelectPlan, threshold) % AtlasA2::REPEAT_BYTES == 0 &&
                  offsetof(ThresholdPlan, records) % AtlasA2::REPEAT_BYTES == 0,
              "sorting needs records at whole repeats");

}  // namespace sals::qsi
