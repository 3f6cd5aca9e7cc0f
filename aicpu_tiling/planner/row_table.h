// SPDX-License-Identifier: Apache-2.0
// row_table.h - the rows of a problem with their costs, and how far a core gets in them. All heads of a
// token row cost the same, so sums are kept per token row.
#pragma once
#include <cstdint>
#include <vector>

#include "planner/cost_model.h"

namespace sals {

// A place between two tiles: tile 0 stands before a row, tile > 0 cuts it.
struct Position {
    int64_t token_row = 0;
    int64_t head = 0;
    int64_t tile = 0;
};

inline bool operator==(const Position& a, const Position& b) {
    return a.token_row == b.token_row && a.head == b.head && a.tile == b.tile;
}

inline bool operator<(const Position& a, const Position& b) {
    if (a.token_row != b.token_row) return a.token_row < b.token_row;
    return a.head != b.head ? a.head < b.head : a.tile < b.tile;
}

class RowTable {
public:
    // tokens [token_rows] must outlive the table.
    RowTable(const CostModel& model, int64_t heads, const int64_t* tokens, int64_t token_rows);

    int64_t num_rows() const { return token_rows_ * heads_; }
    int64_t heads() const { return heads_; }
    int64_t tokens(const Position& p) const { return tokens_[p.token_row]; }
    Position end() const { return {token_rows_, 0, 0}; }
    int64_t total_cycles() const { return sum_[token_rows_]; }
    int64_t largest_quantum() const { return largest_quantum_; }
    const CostModel& model() const { return model_; }

    // The farthest place to which one core gets from `from` in at most `limit` cycles.
    Position advance(int64_t limit, const Position& from, bool may_cut) const;
    // The earliest place from which one core gets to `to` in at most `limit` cycles.
    Position retreat(int64_t limit, const Position& to) const;

private:
    int64_t cycles_before(const Position& row) const;
    Position last_row_start(int64_t cycles) const;
    Position first_row_start(int64_t cycles) const;
    int64_t affordable_tiles(int64_t cycles) const;

    CostModel model_;
    int64_t heads_;
    const int64_t* tokens_;
    int64_t token_rows_;
    std::vector<int64_t> sum_;  // cycles of all rows before each token row
    int64_t largest_quantum_ = 0;
};

}  // namespace sals
