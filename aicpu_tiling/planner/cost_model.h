// SPDX-License-Identifier: Apache-2.0
// cost_model.h - what a piece of a row costs a core, in cycles of the cube clock (about 1.8 GHz).
// A core works as a pipeline, so a tile costs what the busiest of its resources needs for it. Costs decide
// how work is divided, never what is computed.
#pragma once
#include <cstdint>

#include "sals/plan.h"

namespace sals {

struct CostModel {
    int64_t tile_tokens = 0;
    int64_t tile_cycles = 0;    // a full tile
    int64_t start_cycles = 0;   // every piece: fetch its query
    int64_t finish_cycles = 0;  // a row in one piece: store its result; a cut row is stored by its merge
    int64_t floor_cycles = 0;   // the least that a whole row costs, even an empty one

    int64_t num_tiles(int64_t tokens) const { return ceil_div(tokens, tile_tokens); }

    // Tiles [tile_begin, tile_end) of a cut row; only the row's last tile can be partial.
    int64_t part_cycles(int64_t tokens, int64_t tile_begin, int64_t tile_end) const {
        const int64_t begin = tile_begin * tile_tokens;
        const int64_t end = tile_end * tile_tokens < tokens ? tile_end * tile_tokens : tokens;
        return start_cycles + ceil_div((end - begin) * tile_cycles, tile_tokens);
    }

    int64_t row_cycles(int64_t tokens) const {
        const int64_t cycles = part_cycles(tokens, 0, num_tiles(tokens)) + finish_cycles;
        return cycles > floor_cycles ? cycles : floor_cycles;
    }
};

// query_rows: query vectors that share a list row (the indexer has one).
CostModel cost_model(PlanOp op, int64_t query_rows);

// The step after the tiles, which exists only when a row was cut: all cores meet, then the vector cores
// merge. unit_parts: the most parts one vector core merges (attention). row_tokens: the longest cut row
// (the indexer, where each core with a part selects from the scores of the whole row).
int64_t merge_cycles(PlanOp op, int64_t unit_parts, int64_t row_tokens);

}  // namespace sals
