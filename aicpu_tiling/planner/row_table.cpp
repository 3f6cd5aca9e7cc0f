// SPDX-License-Identifier: Apache-2.0
#include "planner/row_table.h"

#include <algorithm>

namespace sals {

RowTable::RowTable(const CostModel& model, int64_t heads, const int64_t* tokens, int64_t token_rows)
    : model_(model), heads_(heads), tokens_(tokens), token_rows_(token_rows), sum_(token_rows + 1) {
    const int64_t cut_quantum = model.start_cycles + model.tile_cycles;
    for (int64_t t = 0; t < token_rows; ++t) {
        const int64_t cycles = model.row_cycles(tokens[t]);
        sum_[t + 1] = sum_[t] + heads * cycles;
        const int64_t quantum = tokens[t] > model.tile_tokens ? cut_quantum : cycles;
        largest_quantum_ = std::max(largest_quantum_, quantum);
    }
}

// Cycles of all rows before the start of `row`.
int64_t RowTable::cycles_before(const Position& row) const {
    if (row.head == 0) return sum_[row.token_row];
    return sum_[row.token_row] + row.head * model_.row_cycles(tokens_[row.token_row]);
}

// The last row start with at most `cycles` before it.
Position RowTable::last_row_start(int64_t cycles) const {
    const int64_t t = std::upper_bound(sum_.begin(), sum_.end(), cycles) - sum_.begin() - 1;
    if (t == token_rows_) return end();
    return {t, (cycles - sum_[t]) / model_.row_cycles(tokens_[t]), 0};
}

// The first row start with at least `cycles` before it.
Position RowTable::first_row_start(int64_t cycles) const {
    if (cycles <= 0) return {};
    const int64_t t = std::lower_bound(sum_.begin(), sum_.end(), cycles) - sum_.begin();
    const int64_t back = (sum_[t] - cycles) / model_.row_cycles(tokens_[t - 1]);
    return back == 0 ? Position{t, 0, 0} : Position{t - 1, heads_ - back, 0};
}

int64_t RowTable::affordable_tiles(int64_t cycles) const {
    return std::max<int64_t>(cycles - model_.start_cycles, 0) / model_.tile_cycles;
}

Position RowTable::advance(int64_t limit, const Position& from, bool may_cut) const {
    Position row = from;
    int64_t left = limit;
    if (from.tile > 0) {
        const int64_t tiles = model_.num_tiles(tokens(from));
        const int64_t rest = model_.part_cycles(tokens(from), from.tile, tiles);
        if (rest > left) return {from.token_row, from.head, from.tile + affordable_tiles(left)};
        left -= rest;
        const bool was_last_head = from.head + 1 == heads_;
        row = was_last_head ? Position{from.token_row + 1, 0, 0} : Position{from.token_row, from.head + 1, 0};
    }
    const int64_t reach = cycles_before(row) + left;
    Position stop = last_row_start(reach);
    if (!may_cut || stop == end()) return stop;
    const int64_t most = model_.num_tiles(tokens(stop)) - 1;  // a cut leaves a tile on either side
    stop.tile =
        std::clamp<int64_t>(affordable_tiles(reach - cycles_before(stop)), 0, std::max<int64_t>(most, 0));
    return stop;
}

Position RowTable::retreat(int64_t limit, const Position& to) const {
    int64_t left = limit;
    Position row{to.token_row, to.head, 0};
    if (to.tile > 0) {
        const int64_t part = model_.part_cycles(tokens(to), 0, to.tile);
        if (part > left) return {to.token_row, to.head, to.tile - affordable_tiles(left)};
        left -= part;
    }
    const int64_t reach = cycles_before(row) - left;
    const Position start = first_row_start(reach);
    if (start == Position{}) return start;
    const int64_t spare = cycles_before(start) - reach;
    const Position cut = start.head > 0 ? Position{start.token_row, start.head - 1, 0}
                                        : Position{start.token_row - 1, heads_ - 1, 0};
    const int64_t tiles = model_.num_tiles(tokens(cut));
    const int64_t last_tile = model_.part_cycles(tokens(cut), tiles - 1, tiles);
    if (tiles < 2 || spare < last_tile) return start;
    const int64_t more = (spare - last_tile) / model_.tile_cycles;
    return {cut.token_row, cut.head, std::max<int64_t>(tiles - 1 - more, 1)};
}

}  // namespace sals
