// SPDX-License-Identifier: Apache-2.0
// sync.h - every event and cross-core flag of the attention kernel. An event is one bit: it is waited for
// before it is set again. EMPTY events are set when a stage opens and waited for when it closes, so all
// balance.
#pragma once
#include "common/device.h"
#include "sfaa/memory_plan.h"

namespace sals::sfaa {

// ---- cube core -----------------------------------------------------------------------------------------
//   name              pipes         hazard                                                    slots
//   L1_KV_FULL        MTE2 -> MTE1  keys and values of a task have arrived                    SFAA_KV_SLOTS
//   L1_KV_EMPTY       MTE1 -> MTE2  both have moved on to L0                                  SFAA_KV_SLOTS
//   L1_QUERY_FULL     MTE2 -> MTE1  the query of a pass has arrived                           1
//   L1_QUERY_EMPTY    MTE1 -> MTE2  it has moved on to L0A                                    1
//   L1_WEIGHTS_FULL   MTE2 -> MTE1  the weights of a task have arrived                        1
//   L1_WEIGHTS_EMPTY  MTE1 -> MTE2  they have moved on to L0A                                 1
//   L0_FULL           MTE1 -> M     L0A and L0B hold a step                                   L0_SLOTS
//   L0_EMPTY          M -> MTE1     it has been multiplied                                    L0_SLOTS
//   L0A_QUERY_EMPTY   M -> MTE1     all tasks of a pass have met its query                    1
//   L0C_FULL          M -> FIX      L0C holds a product                                       L0C_SLOTS
//   L0C_EMPTY         FIX -> M      it has been stored                                        L0C_SLOTS
inline constexpr int32_t L1_KV_FULL = 0;
inline constexpr int32_t L1_KV_EMPTY = 0;
inline constexpr int32_t L1_QUERY_FULL = L1_KV_FULL + SFAA_KV_SLOTS;
inline constexpr int32_t L1_QUERY_EMPTY = L1_KV_EMPTY + SFAA_KV_SLOTS;
inline constexpr int32_t L1_WEIGHTS_FULL = L1_QUERY_FULL + 1;
inline constexpr int32_t L1_WEIGHTS_EMPTY = L1_QUERY_EMPTY + 1;
inline constexpr int32_t L0_FULL = 0;
inline constexpr int32_t L0_EMPTY = AtlasA2::FIRST_FREE_M_MTE1;
inline constexpr int32_t L0A_QUERY_EMPTY = L0_EMPTY + L0_SLOTS;
inline constexpr int32_t L0C_FULL = 0;
inline constexpr int32_t L0C_EMPTY = 0;
static_assert(L1_WEIGHTS_FULL < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many MTE2_MTE1 events");
static_assert(L0A_QUERY_EMPTY < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many M_MTE1 events");

// ---- vector cores --------------------------------------------------------------------------------------
//   UB_FIRST_FULL      MTE2 -> V     first terms of a chunk of scores have arrived            FIRST_SLOTS
//   UB_SECOND_FULL     MTE2 -> V     second terms, and a task's scales, have arrived          1
//   UB_FIRST_EMPTY     MTE3 -> MTE2  the weights that became of the first terms are stored    FIRST_SLOTS
//   UB_SECOND_EMPTY    V -> MTE2     the second terms have been used                          1
//   UB_PRODUCTS_FULL   MTE2 -> V     products, query rows or parts, with the scales of        1
//                                    channels, have arrived
//   UB_PRODUCTS_EMPTY  V -> MTE2     they have been used                                      1
//   UB_SCALES_EMPTY    V -> MTE2     the task's per-token scales have been used               1
//   UB_WIDE_FULL       MTE2 -> V     strided scales, one per datablock, have arrived          1
//   UB_WIDE_EMPTY      V -> MTE2     they have been packed                                    1
//   UB_WEIGHTS_FULL    V -> MTE3     a chunk of weights is ready to be stored                 FIRST_SLOTS
//   UB_TERMS_FULL      V -> MTE3     terms of query rows are ready to be stored               1
//   UB_TERMS_EMPTY     MTE3 -> V     they have been stored                                    1
//   UB_OUT_FULL        V -> MTE3     results are ready to be stored                           1
//   UB_OUT_EMPTY       MTE3 -> V     they have been stored                                    1
//   UB_FILLED          V -> S        the scalar unit may write what the vector unit filled    1
inline constexpr int32_t UB_FIRST_FULL = 0;
inline constexpr int32_t UB_SECOND_FULL = UB_FIRST_FULL + FIRST_SLOTS;
inline constexpr int32_t UB_FIRST_EMPTY = 0;
inline constexpr int32_t UB_SECOND_EMPTY = 0;
inline constexpr int32_t UB_PRODUCTS_FULL = UB_SECOND_FULL + 1;
inline constexpr int32_t UB_PRODUCTS_EMPTY = 1;
inline constexpr int32_t UB_WIDE_FULL = UB_PRODUCTS_FULL + 1;
inline constexpr int32_t UB_WIDE_EMPTY = 2;
inline constexpr int32_t UB_SCALES_EMPTY = 3;
inline constexpr int32_t UB_WEIGHTS_FULL = 0;
inline constexpr int32_t UB_TERMS_FULL = UB_WEIGHTS_FULL + FIRST_SLOTS;
inline constexpr int32_t UB_TERMS_EMPTY = 0;
inline constexpr int32_t UB_OUT_FULL = UB_TERMS_FULL + 1;
inline constexpr int32_t UB_OUT_EMPTY = 1;
inline constexpr int32_t UB_FILLED = 0;
static_assert(UB_WIDE_FULL < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many MTE2_V events");
static_assert(UB_SCALES_EMPTY < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many V_MTE2 events");
static_assert(UB_OUT_FULL < AtlasA2::EVENTS_PER_PIPE_PAIR, "too many V_MTE3 events");

// ---- between the cores of a group ----------------------------------------------------------------------
//   V2C_QUERY_FULL     both vector cores -> cube   terms of the query rows of a pass SFAA_QUERY_SLOTS
//   C2V_SCORES_FULL    cube -> both vector cores   scores of a task                           SFAA_RING_SLOTS
//   V2C_WEIGHTS_FULL   both vector cores -> cube   weights of a task                          SFAA_RING_SLOTS
//   C2V_PRODUCTS_FULL  cube -> both vector cores   weighted values of a task                  SFAA_RING_SLOTS
// A set counts, so one id serves all slots of a ring. That a slot is free again needs no flag:
//     query     of task i + 3 is written when the scores of task i - 1 are there
//     scores    of task i + 3 follow the weights of task i, which were made from the scores of task i
//     weights   of task i + 3 follow the products of task i, for which the weights of task i were read
//     products  of task i + 3 follow the weights of task i + 3, made after the products of task i were used
inline constexpr uint8_t MODE_CUBE_VECTOR = 2;
inline constexpr uint16_t V2C_QUERY_FULL = 0;
inline constexpr uint16_t C2V_SCORES_FULL = 1;
inline constexpr uint16_t V2C_WEIGHTS_FULL = 2;
inline constexpr uint16_t C2V_PRODUCTS_FULL = 3;

}  // namespace sals::sfaa
