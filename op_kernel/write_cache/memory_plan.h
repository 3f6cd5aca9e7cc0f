// SPDX-License-Identifier: Apache-2.0
// memory_plan.h - what write_cache keeps in the UB, and its own events.
#pragma once
#include "strips/memory_plan.h"
#include "strips/sync.h"

namespace sals::write_cache {

struct UbPlan {
    strips::StripPlan strip;  // first, see strips/memory_plan.h
    float channel_scales[MAX_HEAD_DIM];
    float channel_divisors[MAX_HEAD_DIM];
    uint8_t is_divisor[AtlasA2::DATABLOCK_BYTES];  // a bit per channel
    int32_t slots[SLOT_CHUNK];                     // of tokens behind the strip
    int32_t found[SLOT_CHUNK];                     // of them the ones that equal a slot
    uint8_t is_equal[SLOT_CHUNK / 8];
};
static_assert(sizeof(UbPlan) <= AtlasA2::UB_BYTES, "the UB plan of write_cache exceeds the UB");
static_assert(MAX_HEAD_DIM / 8 <= AtlasA2::DATABLOCK_BYTES, "the mask of channels exceeds its place");

//   CHANNELS_FULL    MTE2 -> V     scales of a head's channels have arrived                    1
//   CHANNELS_EMPTY   V -> MTE2     they have become divisors                                   1
//   SLOTS_FULL       MTE2 -> V     a chunk of slots has arrived                                1
//   SLOTS_EMPTY      V -> MTE2     it has been searched                                        1
//   FOUND            V -> S        how many slots were equal                                   1
inline constexpr int32_t CHANNELS_FULL = strips::FIRST_FREE_MTE2_V;
inline constexpr int32_t CHANNELS_EMPTY = strips::FIRST_FREE_V_MTE2;
inline constexpr int32_t SLOTS_FULL = CHANNELS_FULL + 1;
inline constexpr int32_t SLOTS_EMPTY = CHANNELS_EMPTY + 1;
inline constexpr int32_t FOUND = 0;
static_assert(SLOTS_FULL < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many MTE2_V events");
static_assert(SLOTS_EMPTY < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many V_MTE2 events");

}  // namespace sals::write_cache
