// SPDX-License-Identifier: Apache-2.0
// sfaa_policy.h - how the attention kernel cuts its work: sizes that host and kernel both count in, and the
// variants that are compiled.
#pragma once
#include <cstdint>

#include "sals/arch.h"
#include "sals/kv_layout.h"
#include "sals/limits.h"
#include "sals/portability.h"

namespace sals {

// A float row stands for two int8 rows: x = (first + second / 256) * amax / 127; a shift separates them.
inline constexpr int32_t SFAA_TERMS = 2;
inline constexpr int32_t SFAA_FIRST_TERM = 127;
inline constexpr int32_t SFAA_SECOND_TERM = 256;

SALS_HD bool is_device_head_dim(int64_t head_dim) {
    return head_dim == 64 || head_dim == 128 || head_dim == 256;
}

// A task is what passes between the cores at once: keys and values of so many slots, at most. Four tasks
// share L1: one is being gathered, one waits, one meets the query, one meets its weights.
inline constexpr int32_t SFAA_KV_SLOTS = 4;
inline constexpr int32_t SFAA_TASK_BYTES = 48 * 1024;  // of keys, and as many of values
// Sums over a task of weights of up to 127 * 256 stay below 2^24, where fp32 is exact.
inline constexpr int32_t SFAA_MAX_TASK_TOKENS = 512;
static_assert(SFAA_MAX_TASK_TOKENS * SFAA_FIRST_TERM * SFAA_SECOND_TERM < 1 << 24);

SALS_HD constexpr int32_t sfaa_task_tokens(int32_t head_dim) {
    return SFAA_TASK_BYTES / head_dim < SFAA_MAX_TASK_TOKENS ? SFAA_TASK_BYTES / head_dim
                                                             : SFAA_MAX_TASK_TOKENS;
}

// Query rows that go through a list together; further rows of a list are further passes. Two terms of them
// fill the 128 rows of a product, up to 16 KiB of int8.
inline constexpr int32_t SFAA_MAX_PASS_ROWS = 64;
inline constexpr int32_t SFAA_PASS_BYTES = 8 * 1024;

SALS_HD constexpr int32_t sfaa_pass_rows(int32_t head_dim) {
    return SFAA_PASS_BYTES / head_dim < SFAA_MAX_PASS_ROWS ? SFAA_PASS_BYTES / head_dim : SFAA_MAX_PASS_ROWS;
}

// Rings in global memory between the cube core and its vector cores.
inline constexpr int32_t SFAA_QUERY_SLOTS = 4;  // passes: three may begin while one is in use
inline constexpr int32_t SFAA_RING_SLOTS = 3;   // tasks

// Blocks take whole groups of columns of a task, so that scales and positions of a block start at a
// datablock; columns behind the last token that is seen are masked.
inline constexpr int32_t SFAA_COLUMN_GROUP = 8;

// ROWS: whole rows of tokens at a stride, which the DMA turns into planes. PLANES: planes of 32 bytes. TWINS:
// the planes of keys and of values at one distance, fetched together.
enum class SfaaCacheForm : int32_t { ROWS = 0, PLANES = 1, TWINS = 2 };

SALS_HD SfaaCacheForm sfaa_cache_form(KvLayout layout) {
    if (layout == KvLayout::PA_KV) return SfaaCacheForm::TWINS;
    return has_planes(layout) ? SfaaCacheForm::PLANES : SfaaCacheForm::ROWS;
}

// How keys and values are gathered; docs/explanation/gather-study.md. No result depends on it.
struct SfaaGather {
    bool joins_runs = true;  // consecutive tokens of a page are one DMA
    bool joins_pairs =
        true;  // two stretches within reach of a stride are one DMA; PA_KV joins keys and values
    int32_t touched_percent = 0;  // of a task: what vector cores read ahead of the cube core, into the L2
};

}  // namespace sals
