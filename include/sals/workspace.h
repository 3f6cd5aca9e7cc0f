// SPDX-License-Identifier: Apache-2.0
// workspace.h - scratch memory of the kernels in global memory: the host allocates it, the kernel indexes it.
// The indexer's:
//     dots    [num_cores][QSI_RING_SLOTS][QSI_HANDOFF_TOKENS] int32   cube core to its vector cores
//     scores  [num_cores][QSI_ROW_SLOTS][row_floats] fp32             rows that one core handles whole
//     cut     [num_cores][row_floats] fp32                            rows cut by a plan, fewer than cores
// All of it stays in the L2 cache in practice. Each part begins on an L2 line.
#pragma once
#include <cstdint>

#include "sals/qsi_policy.h"
#include "sals/qsi_tiling.h"

namespace sals {

inline constexpr int64_t QSI_RING_SLOT_BYTES = QSI_HANDOFF_TOKENS * int64_t{sizeof(int32_t)};

SALS_HD int64_t qsi_row_scores_bytes(const QsiTiling& t) {
    return ceil_div<int64_t>(t.max_candidates * int64_t{sizeof(float)}, AtlasA2::L2_LINE_BYTES) *
           AtlasA2::L2_LINE_BYTES;
}

SALS_HD int64_t qsi_dots_offset(int32_t core, int32_t ring_slot) {
    return (int64_t{core} * QSI_RING_SLOTS + ring_slot) * QSI_RING_SLOT_BYTES;
}

SALS_HD int64_t qsi_scores_offset(const QsiTiling& t, int32_t core, int32_t row_slot) {
    return qsi_dots_offset(t.num_cores, 0) +
           (int64_t{core} * QSI_ROW_SLOTS + row_slot) * qsi_row_scores_bytes(t);
}

SALS_HD int64_t qsi_cut_scores_offset(const QsiTiling& t, int32_t merge) {
    return qsi_scores_offset(t, t.num_cores, 0) + merge * qsi_row_scores_bytes(t);
}

SALS_HD int64_t qsi_workspace_bytes(const QsiTiling& t) { return qsi_cut_scores_offset(t, t.num_cores); }

}  // namespace sals
