// SPDX-License-Identifier: Apache-2.0
// workspace.h - scratch memory of the kernels in global memory: the host allocates it, the kernel indexes it.
// The indexer's:
//     dots    [num_cores][QSI_RING_SLOTS][QSI_HANDOFF_TOKENS] int32   cube core to its vector cores
//     scores  [num_cores][QSI_ROW_SLOTS][row_floats] fp32             rows that one core handles whole
//     cut     [num_cores][row_floats] fp32                            rows cut by a plan, fewer than cores
// The attention kernel's, R = twice the query rows of a pass (two terms of each), T = tokens of a task:
//     query    [num_cores][SFAA_QUERY_SLOTS][R][head_dim] int8        vector cores to their cube core
//     scores   [num_cores][SFAA_RING_SLOTS][R][T] int32               cube core to its vector cores
//     weights  [num_cores][SFAA_RING_SLOTS][R][T] int8                vector cores to their cube core
//     products [num_cores][SFAA_RING_SLOTS][R][head_dim] int32        cube core to its vector cores
//     parts    [num_cores][2] partial results of cut rows             the row that a core begins inside, and
//              {maxima, sums, exp_sums [query_rows][8 times the same], rows          the one it ends inside
//              [query_rows][head_dim]} fp32
// All of it stays in the L2 cache in practice. Each part begins on an L2 line.
#pragma once
#include <cstdint>

#include "sals/qsi_policy.h"
#include "sals/qsi_tiling.h"
#include "sals/sfaa_policy.h"
#include "sals/sfaa_tiling.h"

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

SALS_HD int64_t whole_l2_lines(int64_t bytes) {
    return ceil_div(bytes, AtlasA2::L2_LINE_BYTES) * AtlasA2::L2_LINE_BYTES;
}

// What one core exchanges with its vector cores, from sfaa_core_offset() on.
struct SfaaRings {
    int64_t query_slot_bytes, scores_slot_bytes, weights_slot_bytes, products_slot_bytes;

    SALS_HD int64_t query(int32_t slot) const { return slot * query_slot_bytes; }
    SALS_HD int64_t scores(int32_t slot) const { return query(SFAA_QUERY_SLOTS) + slot * scores_slot_bytes; }
    SALS_HD int64_t weights(int32_t slot) const {
        return scores(SFAA_RING_SLOTS) + slot * weights_slot_bytes;
    }
    SALS_HD int64_t products(int32_t slot) const {
        return weights(SFAA_RING_SLOTS) + slot * products_slot_bytes;
    }
    SALS_HD int64_t bytes() const { return products(SFAA_RING_SLOTS); }
};

SALS_HD SfaaRings sfaa_rings(const SfaaTiling& t) {
    const int64_t rows = int64_t{SFAA_TERMS} * sfaa_pass_rows(t);
    const int64_t tokens = sfaa_task_tokens(t.head_dim);
    return {whole_l2_lines(rows * t.head_dim), whole_l2_lines(rows * tokens * int64_t{sizeof(int32_t)}),
            whole_l2_lines(rows * tokens), whole_l2_lines(rows * t.head_dim * int64_t{sizeof(int32_t)})};
}

SALS_HD int64_t sfaa_core_offset(const SfaaTiling& t, int32_t core) { return core * sfaa_rings(t).bytes(); }

// Offsets of a partial result of a cut row.
struct SfaaPart {
    int64_t maxima, sums, exp_sums, rows, end;
};

SALS_HD SfaaPart sfaa_part(const SfaaTiling& t, int32_t core, bool begins_inside) {
    const int64_t query_rows = sfaa_query_rows(t);
    const int64_t line = whole_l2_lines(query_rows * AtlasA2::DATABLOCK_BYTES);
    const int64_t bytes = 3 * line + whole_l2_lines(query_rows * t.head_dim * int64_t{sizeof(float)});
    const int64_t base = sfaa_core_offset(t, t.num_cores) + (core * 2 + (begins_inside ? 0 : 1)) * bytes;
    return {base, base + line, base + 2 * line, base + 3 * line, base + bytes};
}

SALS_HD int64_t sfaa_workspace_bytes(const SfaaTiling& t) { return sfaa_part(t, t.num_cores, true).maxima; }

}  // namespace sals
