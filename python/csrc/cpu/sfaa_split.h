// SPDX-License-Identifier: Apache-2.0
// sfaa_split.h - the tiles of all list rows divided over workers. The tiles of a row fall into pieces that
// merge in order; where pieces begin is a property of the row alone, or of the plan, but never of the
// workers.
#pragma once
#include <cstdint>
#include <vector>

#include "cpu/sfaa_rows.h"

namespace sals::cpu {

inline constexpr int64_t NOT_CUT = -1;

// Pieces of a constant length: where a row is cut then depends neither on its neighbours nor on the width of
// its list. A whole number of steps.
inline constexpr int64_t PIECE_TILES = 32;

struct Boundary {
    int64_t row;
    int64_t tile;
};

// A row in which workers meet: its pieces wait in slots until all are done.
struct CutRow {
    int64_t row;
    int64_t first_slot;
    int64_t slots;
};

struct SfaaSplit {
    int64_t tiles = 0;                // of each row
    int64_t piece_tiles = 0;          // of a piece; the last one of a part may be shorter
    std::vector<Boundary> begin;      // worker i works from begin[i] to begin[i + 1]
    std::vector<int64_t> first_slot;  // of the first piece of a cut row that worker i has
    std::vector<CutRow> cut_rows;     // ascending
    int64_t slots = 0;
    int64_t workers() const { return static_cast<int64_t>(first_slot.size()); }
};

// What one worker does of one row.
struct RowPart {
    int64_t row;
    int64_t tile_begin;
    int64_t tile_end;
    int64_t slot;  // of the first piece, or NOT_CUT for a whole row
};

// The parts of one worker, in order.
class WorkerParts {
public:
    WorkerParts(const SfaaSplit& split, int64_t worker);
    bool next(RowPart& part);

private:
    const SfaaSplit& split_;
    Boundary at_, end_;
    int64_t slot_;
};

// Pieces of PIECE_TILES; workers balanced by selected_lens.
SfaaSplit split_rows(const SfaaProblem& problem, const SfaaRows& rows, int64_t workers);

// One worker for each core of the plan; pieces are the parts of rows that cores have.
SfaaSplit split_by_plan(const Plan& plan, const SfaaRows& rows, int64_t num_rows);

}  // namespace sals::cpu
