// SPDX-License-Identifier: Apache-2.0
// sync.h - every event and cross-core flag of the indexer. An event is one bit: it is waited for before it is
// set again. EMPTY events are set when a stage opens and waited for when it closes, so all balance.
#pragma once
#include "common/device.h"
#include "qsi/memory_plan.h"

namespace sals::qsi {

// ---- cube core, one id per slot ------------------------------------------------------------------------
//   name           pipes         hazard                                                       slots
//   L1_KEY_FULL    MTE2 -> MTE1  keys and query of a step have arrived                        L1_SLOTS
//   L1_KEY_EMPTY   MTE1 -> MTE2  they have moved on to L0, the slot may be overwritten        L1_SLOTS
//   L0_FULL        MTE1 -> M     L0A and L0B hold a step                                      L0_SLOTS
//   L0_EMPTY       M -> MTE1     they have been multiplied                                    L0_SLOTS
//   L0C_FULL       M -> FIX      L0C holds the dots of a step                                 L0_SLOTS
//   L0C_EMPTY      FIX -> M      they have been stored                                        L0_SLOTS
inline constexpr int32_t L1_KEY_FULL = 0;
inline constexpr int32_t L1_KEY_EMPTY = 0;
inline constexpr int32_t L0_FULL = 0;
inline constexpr int32_t L0_EMPTY = AtlasA2::FIRST_FREE_M_MTE1;
inline constexpr int32_t L0C_FULL = 0;
inline constexpr int32_t L0C_EMPTY = 0;
static_assert(L1_KEY_FULL + L1_SLOTS <= AtlasA2::EVENTS_PER_PIPE_PAIR, "too many key slots");
static_assert(L0_EMPTY + L0_SLOTS <= AtlasA2::EVENTS_PER_PIPE_PAIR, "too many L0 slots");

// ---- vector cores --------------------------------------------------------------------------------------
//   UB_DOTS_FULL     MTE2 -> V     dots and scales of a share have arrived                    SHARE_SLOTS
//   UB_DOTS_EMPTY    V -> MTE2     they have been reduced                                     SHARE_SLOTS
//   UB_SCORES_FULL   V -> MTE3     scores of a share are ready to be stored                   SHARE_SLOTS
//   UB_SCORES_EMPTY  MTE3 -> V     they have been stored                                      SHARE_SLOTS
//   UB_WIDE_FULL     MTE2 -> V     strided scales, one per datablock, have arrived            1
//   UB_WIDE_EMPTY    V -> MTE2     they have been packed                                      1
//   UB_CHUNK_FULL    MTE2 -> V     a chunk of a row's scores has arrived                      CHUNK_SLOTS
//   UB_CHUNK_EMPTY   V -> MTE2     it has been used                                           CHUNK_SLOTS
//   UB_SAMPLE_FULL   MTE2 -> V     the sample of a long row has arrived                       1
//   UB_IDS_FULL      V -> MTE3     ids are ready to be stored                                 IDS_SLOTS
//   UB_IDS_EMPTY     MTE3 -> V     they have been stored                                      IDS_SLOTS
//   UB_RESULT        V -> S        the scalar unit may read what the vector unit computed     1
inline constexpr int32_t UB_DOTS_FULL = 0;
inline constexpr int32_t UB_DOTS_EMPTY = 0;
inline constexpr int32_t UB_SCORES_FULL = 0;
inline constexpr int32_t UB_SCORES_EMPTY = 0;
inline constexpr int32_t UB_CHUNK_FULL = UB_DOTS_FULL + SHARE_SLOTS;
inline constexpr int32_t UB_CHUNK_EMPTY = UB_DOTS_EMPTY + SHARE_SLOTS;
inline constexpr int32_t UB_WIDE_FULL = UB_CHUNK_FULL + CHUNK_SLOTS;
inline constexpr int32_t UB_WIDE_EMPTY = UB_CHUNK_EMPTY + CHUNK_SLOTS;
inline constexpr int32_t UB_SAMPLE_FULL = UB_WIDE_FULL + 1;
inline constexpr int32_t UB_IDS_FULL = UB_SCORES_FULL + SHARE_SLOTS;
inline constexpr int32_t UB_IDS_EMPTY = UB_SCORES_EMPTY + SHARE_SLOTS;
inline constexpr int32_t UB_RESULT = 0;
static_assert(UB_SAMPLE_FULL < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many MTE2_V events");
static_assert(UB_WIDE_EMPTY < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many V_MTE2 events");
static_assert(UB_IDS_EMPTY + IDS_SLOTS <= AtlasA2::EVENTS_PER_PIPE_PAIR, "too many MTE3_V events");

// ---- between the cores of a group ----------------------------------------------------------------------
//   C2V_DOTS_FULL    cube -> both vector cores   a hand-off stands in the ring                QSI_RING_SLOTS
//   V2C_DOTS_EMPTY   both vector cores -> cube   both have read their shares                  QSI_RING_SLOTS
//   V2V_ROW_SCORED   both -> both vector cores   all scores of a row stand in global memory   QSI_ROW_SLOTS
// A set counts, so one id serves all slots of a ring.
inline constexpr uint8_t MODE_VECTOR_PAIR = 1;
inline constexpr uint8_t MODE_CUBE_VECTOR = 2;
inline constexpr uint16_t C2V_DOTS_FULL = 0;
inline constexpr uint16_t V2C_DOTS_EMPTY = 1;
inline constexpr uint16_t V2V_ROW_SCORED = 2;
static_assert(QSI_RING_SLOTS <= AtlasA2::MAX_UNWAITED_SETS, "a flag counts at most 15 unwaited sets");

}  // namespace sals::qsi
