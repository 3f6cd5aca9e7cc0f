// SPDX-License-Identifier: Apache-2.0
// handoffs.h - the order of work that the cube core and the vector cores of a group share: pieces of rows,
// cut into hand-offs. All three walk the same sequence, so nothing but flags passes between them.
#pragma once
#include "common/plan_reader.h"
#include "qsi/memory_plan.h"
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
    int32_t last;  // where the hand-offs begin that one vector core reduces alone, if any; else `end`
};

// A row of one or two hand-offs would lose more by another one than it gains.
SALS_DEVICE bool is_long(int64_t row_tokens) { return row_tokens > 2 * QSI_HANDOFF_TOKENS; }

// By how many tokens the hand-offs of a core end earlier than those of core 0. In phase, all vector cores
// would fetch scales at the same time and slow the keys down, and leave bandwidth unused in between.
SALS_DEVICE int32_t phase_of(int32_t core, int32_t num_cores, int64_t row_tokens) {
    if (!is_long(row_tokens)) return 0;
    return core * QSI_HANDOFF_TOKENS / num_cores / QSI_TILE_TOKENS * QSI_TILE_TOKENS;
}

// A whole row that a chunk holds ends with hand-offs of one share, which the vector core that selects the row
// reduces alone: their scores need not pass through global memory, and those before are there in time. They
// begin at whole datablocks of scores.
SALS_DEVICE int32_t last_handoffs(const ScoredPiece& piece, int32_t block_size) {
    const int32_t tokens = piece.end - piece.begin;
    if (piece.slot != NO_SLOT || !is_long(tokens) || piece.row.n > LADDER) return piece.end;
    const int32_t unit = block_size * DATABLOCK_LANES;
    const int32_t last = piece.begin + (tokens - LAST_TOKENS + unit - 1) / unit * unit;
    const int32_t rest = (last - piece.origin) % QSI_HANDOFF_TOKENS;  // of a hand-off before
    return rest < unit ? last - unit : last;
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
    scored.last = last_handoffs(scored, tiling.block_size);
    return scored;
}

// Where the part of `size` tokens ends that holds `token`, counted from `origin`.
SALS_DEVICE int32_t part_end(int32_t origin, int32_t token, int32_t size, int32_t end) {
    const int32_t next = origin + ((token - origin) / size + 1) * size;
    return next < end ? next : end;
}

// Tokens that the cube core hands over at once; `origin` is the one that stands first in the ring slot, be it
// of this hand-off or not.
struct Handoff {
    int32_t begin;
    int32_t end;
    int32_t origin;
};

SALS_DEVICE Handoff handoff_at(const ScoredPiece& piece, int32_t begin) {
    if (begin >= piece.last) return {begin, smaller(begin + QSI_SHARE_TOKENS, piece.end), begin};
    const int32_t end = part_end(piece.origin, begin, QSI_HANDOFF_TOKENS, piece.last);
    return {begin, end, begin - (begin - piece.origin) % QSI_HANDOFF_TOKENS};
}

}  // namespace sals::qsi
