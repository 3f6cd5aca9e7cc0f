// SPDX-License-Identifier: Apache-2.0
// handoffs.h - the order of work that the cube core and the vector cores of a group share: pieces of rows,
// cut into hand-offs. All three walk the same sequence, so nothing but flags passes between them.
#pragma once
#include "common/plan_reader.h"
#include "qsi/row_info.h"

namespace sals::qsi {

// Tokens [begin, end) of a row that one core scores; slot as in Piece. Hand-offs, shares and steps end at
// multiples of their size, counted from `origin`: pages of a power of two tokens then end with them, and no
// page is fetched in more parts than steps. The origin differs from the request's first token only where
// blocks of 8 tokens would put a boundary inside one of the cube's columns of 16.
struct ScoredPiece {
    RowInfo row;
    int32_t begin;
    int32_t end;
    int32_t origin;
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
    scored.origin = static_cast<int32_t>(base % AtlasA2::FRACTAL_ROWS);
    return scored;
}

// Where the part of `size` tokens ends that holds `token`.
SALS_DEVICE int32_t part_end(const ScoredPiece& piece, int32_t token, int32_t size, int32_t end) {
    const int32_t next = piece.origin + ((token - piece.origin) / size + 1) * size;
    return next < end ? next : end;
}

}  // namespace sals::qsi
