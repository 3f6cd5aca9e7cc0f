// SPDX-License-Identifier: Apache-2.0
// plan_walk.h - reads a plan: the pieces of rows that one core works on, in order.
#pragma once
#include <cstdint>

#include "sals/plan.h"
#include "sals/portability.h"

namespace sals {

inline constexpr int32_t ROW_END =
    INT32_MAX;                          // a piece that runs to the end of its row, however long that is
inline constexpr int32_t NO_SLOT = -1;  // a row that one core handles whole

struct Piece {
    int32_t row;
    int32_t tile_begin;
    int32_t tile_end;  // exclusive, or ROW_END
    int32_t slot;      // where this part of a split row goes, or NO_SLOT
};

// Slot of the first part that core `core` holds: the parts that all earlier cores hold of split rows.
SALS_HD int32_t first_slot(const Plan& plan, int32_t core) {
    int32_t slots = 0;
    for (int32_t i = 0; i < core; ++i) {
        const bool empty =
            plan.row_begin[i] == plan.row_begin[i + 1] && plan.tile_begin[i] == plan.tile_begin[i + 1];
        if (empty) continue;
        const bool continues = plan.tile_begin[i] > 0;
        const bool is_cut = plan.tile_begin[i + 1] > 0;
        const bool one_piece = continues && is_cut && plan.row_begin[i] == plan.row_begin[i + 1];
        slots += one_piece ? 1 : static_cast<int32_t>(continues) + static_cast<int32_t>(is_cut);
    }
    return slots;
}

class PlanWalk {
public:
    SALS_HD PlanWalk(const Plan& plan, int32_t core)
        : row_(plan.row_begin[core]),
          tile_(plan.tile_begin[core]),
          end_row_(plan.row_begin[core + 1]),
          end_tile_(plan.tile_begin[core + 1]),
          slot_(first_slot(plan, core)) {}

    SALS_HD bool next(Piece& piece) {
        const bool in_last = row_ == end_row_;
        if (row_ > end_row_ || (in_last && tile_ >= end_tile_)) return false;
        piece = {row_, tile_, in_last ? end_tile_ : ROW_END, NO_SLOT};
        if (tile_ > 0 || in_last) piece.slot = slot_++;
        ++row_;
        tile_ = 0;
        return true;
    }

private:
    int32_t row_, tile_, end_row_, end_tile_, slot_;
};

}  // namespace sals
