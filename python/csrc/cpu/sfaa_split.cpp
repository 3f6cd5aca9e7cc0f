// SPDX-License-Identifier: Apache-2.0
#include "cpu/sfaa_split.h"

#include <algorithm>

namespace sals::cpu {
namespace {

// Costs in tokens of a row of four query heads (some 20 ns each): reading an empty tile, starting a row, and
// the least for which waking another thread pays.
constexpr int64_t TILE_COST = 2;
constexpr int64_t ROW_COST = 32;
constexpr int64_t WORKER_COST = 1024;
constexpr int64_t COST_ROWS = 4;

int64_t piece_slots(const SfaaSplit& split, int64_t tile_begin, int64_t tile_end) {
    return tile_begin < tile_end ? ceil_div(tile_end - tile_begin, split.piece_tiles) : 0;
}

void add_cut_part(SfaaSplit& split, int64_t row, int64_t tile_begin, int64_t tile_end) {
    if (split.cut_rows.empty() || split.cut_rows.back().row != row) {
        split.cut_rows.push_back({row, split.slots, 0});
    }
    const int64_t slots = piece_slots(split, tile_begin, std::min<int64_t>(tile_end, split.tiles));
    split.cut_rows.back().slots += slots;
    split.slots += slots;
}

// Numbers the slots; only the first and the last row of a worker can be cut.
void number_slots(SfaaSplit& split) {
    for (size_t i = 0; i + 1 < split.begin.size(); ++i) {
        const Boundary from = split.begin[i], to = split.begin[i + 1];
        split.first_slot.push_back(split.slots);
        const bool in_one_row = from.row == to.row;
        if (from.tile > 0 && (!in_one_row || from.tile < to.tile)) {
            add_cut_part(split, from.row, from.tile, in_one_row ? to.tile : split.tiles);
        }
        if (to.tile > 0 && (!in_one_row || from.tile == 0)) add_cut_part(split, to.row, 0, to.tile);
    }
}

int64_t tiles_cost(int64_t tiles, int64_t row_tokens) {
    return tiles > 0 ? ROW_COST + tiles * TILE_COST + std::min<int64_t>(tiles * SFAA_TILE_TOKENS, row_tokens)
                     : 0;
}

// The piece of the row before which about `cost` is done.
Boundary boundary_in_row(const SfaaSplit& split, int64_t row, int64_t row_tokens, int64_t cost) {
    Boundary best{row, 0};
    int64_t least = cost;
    for (int64_t tile = split.piece_tiles; tile < split.tiles + split.piece_tiles;
         tile += split.piece_tiles) {
        const bool is_end = tile >= split.tiles;
        const int64_t distance =
            std::abs(tiles_cost(std::min<int64_t>(tile, split.tiles), row_tokens) - cost);
        if (distance >= least) break;
        least = distance;
        best = is_end ? Boundary{row + 1, 0} : Boundary{row, tile};
    }
    return best;
}

}  // namespace

WorkerParts::WorkerParts(const SfaaSplit& split, int64_t worker)
    : split_(split),
      at_(split.begin[worker]),
      end_(split.begin[worker + 1]),
      slot_(split.first_slot[worker]) {}

bool WorkerParts::next(RowPart& part) {
    const bool in_last = at_.row == end_.row;
    if (at_.row > end_.row || (in_last && at_.tile >= end_.tile)) return false;
    const int64_t end = in_last ? std::min<int64_t>(end_.tile, split_.tiles) : split_.tiles;
    part = {at_.row, at_.tile, end, NOT_CUT};
    if (at_.tile > 0 || in_last) {
        part.slot = slot_;
        slot_ += piece_slots(split_, at_.tile, end);
    }
    at_ = {at_.row + 1, 0};
    return true;
}

SfaaSplit split_rows(const SfaaProblem& problem, const SfaaRows& rows, int64_t workers) {
    SfaaSplit split;
    split.tiles = rows.tiles();
    split.piece_tiles = PIECE_TILES;
    const int64_t num_rows = problem.rows();
    std::vector<int64_t> cost_before(num_rows + 1, 0);
    for (int64_t row = 0; row < num_rows; ++row) {
        cost_before[row + 1] = cost_before[row] + tiles_cost(split.tiles, rows.list_tokens(row));
    }
    const int64_t total = cost_before[num_rows];
    const int64_t query_rows = problem.group * (problem.shared_list() ? problem.axis.s_q : 1);
    const int64_t worth = total * std::max<int64_t>(query_rows, COST_ROWS) / COST_ROWS / WORKER_COST;
    const int64_t used = std::max<int64_t>(std::min<int64_t>(workers, worth), 1);
    split.begin.push_back({0, 0});
    for (int64_t i = 1; i < used; ++i) {
        const int64_t goal = total / used * i;
        const auto after = std::upper_bound(cost_before.begin(), cost_before.end(), goal);
        const int64_t row = std::min<int64_t>(after - cost_before.begin() - 1, num_rows - 1);
        const Boundary next = boundary_in_row(split, row, rows.list_tokens(row), goal - cost_before[row]);
        const Boundary last = split.begin.back();
        const bool ascends = next.row > last.row || (next.row == last.row && next.tile > last.tile);
        split.begin.push_back(ascends ? next : last);
    }
    split.begin.push_back({num_rows, 0});
    number_slots(split);
    return split;
}

SfaaSplit split_by_plan(const Plan& plan, const SfaaRows& rows, int64_t num_rows) {
    SfaaSplit split;
    split.tiles = rows.tiles();
    split.piece_tiles = std::max<int64_t>(split.tiles, 1);
    for (int32_t i = 0; i <= plan.num_cores; ++i) {
        split.begin.push_back({plan.row_begin[i], plan.tile_begin[i]});
    }
    split.begin.back().row = num_rows;  // rows that the plan leaves out are padding, which is zeroed, too
    number_slots(split);
    return split;
}

}  // namespace sals::cpu
