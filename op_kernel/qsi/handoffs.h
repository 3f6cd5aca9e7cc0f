// SPDX-License-Identifier: Apache-2.0
// handoffs.h - the order of work that the cube core and the vector cores of a group share: pieces of rows,
// cut into hand-offs. All three walk the same sequence, so nothing but flags passes between them.
#pragma once
#include "common/plan_reader.h"
#include "qsi/row_info.h"

namespace sals::qsi {

// Tokens [begin, end) of a row that one core scores; slot as in Piece. Hand-offs and steps end at multiples
// of their size, counted from `origin`: pages of up to a tile of tokens then end with them, and no page is
// fetched in more parts than steps. The origin is the request's first token, but for two things: blocks of 8
// tokens must not put a boundary inside one of the cube's columns of 16, and cores are out of phase.
struct ScoredPiece {
    RowInfo row;
    int32_t begin;
    int32_t end;
    int32_t origin;
    int32_t slot;
};

// By how many tokens the hand-offs of a core end earlier than those of core 0. In phase, all vector cores
// would fetch scales at the same time and slow the keys down, and leave bandwidth unused in between. A row of
// one or two hand-offs would lose more by another one.
SALS_DEVICE int32_t phase_of(int32_t core, int32_t num_cores, int64_t row_tokens) {
    if (row_tokens <= 2 * QSI_HANDOFF_TOKENS) return 0;
    return core * QSI_HANDOFF_TOKENS / num_cores / QSI_TILE_TOKENS * QSI_TILE_TOKENS;
}

SALS_DEVICE ScoredPiece scored_piece(const RowTable& rows, const Piece& piece, int32_t core) {
    const QsiTiling& tiling = rows.tiling();
    rows.preload(piece.row, int64_t{piece.tile_begin} * QSI_TILE_TOKENS);
    ScoredPiece scored;
    scored.row = rows.at(piece.row);
    scored.slot = piece.slot;
    const int64_t base = int64_t{scored.row.first} * tiling.block_size;
    const int64_t all = scored.row.is_scored ? int64_t{scored.row.n} * tiling.block_size : 0;
    scored.begin = static_cast<int32_t>(base + smaller(piece.tile_begin * QSI_TILE_TOKENS, all));
    scored.end = static_cast<int32_t>(base + smaller(piece.tile_end * QSI_TILE_TOKENS, all));
    scored.origin =
        static_cast<int32_t>(base % AtlasA2::FRACTAL_ROWS) - phase_of(core, tiling.num_cores, all);
    return scored;
}

// Where the part of `size` tokens ends that holds `token`.
SALS_DEVICE int32_t part_end(const ScoredPiece& piece, int32_t token, int32_t size, int32_t end) {
    const int32_t next = piece.origin + ((token - piece.origin) / size + 1) * size;
    return next < end ? next : end;
}

}  // namespace sals::qsi
