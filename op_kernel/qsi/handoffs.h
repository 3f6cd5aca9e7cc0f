// SPDX-License-Identifier: Apache-2.0
// handoffs.h - the order of work that the cube core and the vector cores of a group share: pieces of rows,
// cut into hand-offs. All three walk the same sequence, so nothing but flags passes between them.
#pragma once
#include "common/plan_reader.h"
#include "qsi/row_info.h"

namespace sals::qsi {

// Tokens [begin, end) of a row that one core scores; slot as in Piece.
struct ScoredPiece {
    RowInfo row;
    int32_t begin;
    int32_t end;
    int32_t slot;
};

SALS_DEVICE ScoredPiece scored_piece(const RowTable& rows, const Piece& piece) {
    ScoredPiece scored;
    scored.row = rows.at(piece.row);
    scored.slot = piece.slot;
    const int64_t base = int64_t{scored.row.first} * rows.tiling().block_size;
    const int64_t all = scored.row.is_scored ? int64_t{scored.row.n} * rows.tiling().block_size : 0;
    scored.begin = static_cast<int32_t>(base + smaller(piece.tile_begin * QSI_TILE_TOKENS, all));
    scored.end = static_cast<int32_t>(base + smaller(piece.tile_end * QSI_TILE_TOKENS, all));
    return scored;
}

SALS_DEVICE int32_t handoff_tokens(int32_t token, int32_t end) {
    return end - token < QSI_HANDOFF_TOKENS ? end - token : QSI_HANDOFF_TOKENS;
}

}  // namespace sals::qsi
