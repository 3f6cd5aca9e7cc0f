// SPDX-License-Identifier: Apache-2.0
// sync.h - the events of work on strips. An event is one bit: it is waited for before it is set again. EMPTY
// events are set when a stage opens and waited for when it closes, so all balance. A kernel's own events
// begin at FIRST_FREE.
#pragma once
#include "strips/memory_plan.h"

namespace sals::strips {

//   name           pipes         hazard                                             slots
//   INPUT_FULL     MTE2 -> V     vectors of a strip have arrived                    INPUT_SLOTS
//   INPUT_EMPTY    V -> MTE2     they have been converted                           INPUT_SLOTS
//   TILE_FULL      MTE2 -> V     rows of a projection have arrived                  TILE_SLOTS
//   TILE_EMPTY     V -> MTE2     they have been multiplied                          TILE_SLOTS
//   RESULT_FULL    V -> MTE3     codes and scales of a strip are ready              RESULT_SLOTS
//   RESULT_EMPTY   MTE3 -> V     they have been stored                              RESULT_SLOTS
inline constexpr int32_t INPUT_FULL = 0;
inline constexpr int32_t INPUT_EMPTY = 0;
inline constexpr int32_t TILE_FULL = INPUT_FULL + INPUT_SLOTS;
inline constexpr int32_t TILE_EMPTY = INPUT_EMPTY + INPUT_SLOTS;
inline constexpr int32_t RESULT_FULL = 0;
inline constexpr int32_t RESULT_EMPTY = 0;
inline constexpr int32_t FIRST_FREE_MTE2_V = TILE_FULL + TILE_SLOTS;
inline constexpr int32_t FIRST_FREE_V_MTE2 = TILE_EMPTY + TILE_SLOTS;
static_assert(FIRST_FREE_MTE2_V <= AtlasA2::EVENTS_PER_PIPE_PAIR, "too many MTE2_V events");
static_assert(FIRST_FREE_V_MTE2 <= AtlasA2::EVENTS_PER_PIPE_PAIR, "too many V_MTE2 events");
static_assert(RESULT_FULL + RESULT_SLOTS <= AtlasA2::EVENTS_PER_PIPE_PAIR, "too many result slots");

}  // namespace sals::strips
