// SPDX-License-Identifier: Apache-2.0
// qsi_policy.h - how the indexer kernel cuts its work: sizes that host and kernel both count in, and the
// variants that are compiled.
#pragma once
#include <cstdint>

#include "sals/arch.h"
#include "sals/kv_layout.h"
#include "sals/portability.h"

namespace sals {

// One hand-off from the cube core to its vector cores: every vector core takes one share.
inline constexpr int32_t QSI_SHARE_TOKENS = 1024;
inline constexpr int32_t QSI_HANDOFF_TOKENS = QSI_SHARE_TOKENS * AtlasA2::AIV_PER_AIC;
inline constexpr int32_t QSI_RING_SLOTS = 4;  // hand-offs in flight per core
inline constexpr int32_t QSI_ROW_SLOTS = 2;   // rows whose scores are in use per core: selected, written

inline constexpr int64_t QSI_SORTED_BLOCKS = 2048;  // most candidates that order="score" keeps

// A step of the cube fills half of L0B, one row of rank/2 bytes per token.
inline constexpr int64_t QSI_STEP_BYTES = AtlasA2::L0B_BYTES / 2;
SALS_HD constexpr int32_t qsi_step_tokens(int32_t rank) {
    return static_cast<int32_t>(QSI_STEP_BYTES / (rank / 2));
}

inline constexpr int64_t QSI_RANK_STEP = 64;  // int4 values of one C0
SALS_HD bool is_device_rank(int64_t rank) { return rank == 64 || rank == 128 || rank == 256; }

// PLANES: 32-byte pieces of consecutive tokens stand together, as the cube reads them. ROWS: whole rows of
// tokens at a stride, which the DMA turns into planes.
enum class QsiKeyForm : int32_t { PLANES = 0, ROWS = 1 };

SALS_HD QsiKeyForm qsi_key_form(KvLayout layout, int64_t rank) {
    const bool one_plane = layout == KvLayout::PA_BNSD && rank == QSI_RANK_STEP;
    return has_planes(layout) || one_plane ? QsiKeyForm::PLANES : QsiKeyForm::ROWS;
}

}  // namespace sals
