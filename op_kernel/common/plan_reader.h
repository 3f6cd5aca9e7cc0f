// SPDX-License-Identifier: Apache-2.0
// plan_reader.h - the part of a plan that one core needs, read word by word through the scalar cache.
// Without a plan every core takes an equal run of whole rows. Rows behind the plan's last one, which should
// belong to no request, are divided in the same way. A plan that does not fit is refused by every core alike,
// since all read the same words: then no core has pieces, is_valid() is false, and the caller must write all
// rows as empty.
#pragma once
#include "common/even_share.h"
#include "common/tensors.h"
#include "sals/plan.h"
#include "sals/plan_walk.h"

namespace sals {

class PlanReader {
public:
    SALS_DEVICE PlanReader(GM_ADDR plan, PlanOp op, int32_t tile_tokens, int32_t rows, int32_t core,
                           int32_t num_cores) {
        if (plan != nullptr) {
            words_ = global_tensor<int32_t>(plan);
            is_valid_ = fits(op, tile_tokens, rows, num_cores) && read_boundaries(core, num_cores);
            SALS_ASSERT(is_valid_, "the plan was made for other cores, rows or tiles, or is damaged");
            if (!is_valid_) forget_plan();
        }
        unplanned_ = even_share(rows - num_rows_, core, num_cores);
        unplanned_.begin += num_rows_;
        unplanned_.end += num_rows_;
    }

    // Lines of the plan that the constructor reads, in two portions. The first is its header and the rows of
    // boundaries, the second the tiles of boundaries.
    SALS_DEVICE static void preload_rows(GM_ADDR plan, int32_t num_cores) {
        if (plan != nullptr) preload_words(plan, 0, offsetof(Plan, row_begin), num_cores);
    }
    SALS_DEVICE static void preload_tiles(GM_ADDR plan, int32_t num_cores) {
        if (plan != nullptr)
            preload_words(plan, offsetof(Plan, tile_begin), offsetof(Plan, tile_begin), num_cores);
    }

    // Where the work of a core begins, before the plan is known to be right.
    struct Start {
        int32_t row;
        int32_t tile;
    };
    SALS_DEVICE static Start start_of(GM_ADDR plan, int32_t core) {
        const AscendC::GlobalTensor<int32_t> words = global_tensor<int32_t>(plan);
        return {words.GetValue(static_cast<uint64_t>(row_byte(core) / int64_t{sizeof(int32_t)})),
                words.GetValue(static_cast<uint64_t>(tile_byte(core) / int64_t{sizeof(int32_t)}))};
    }
    // The two lines of the plan in which that stands, and all other lines of boundaries.
    SALS_DEVICE static void preload_start(GM_ADDR plan, int32_t core) {
        if (plan == nullptr) return;
        preload_lines(plan, line_of(row_byte(core)), 1);
        preload_lines(plan, line_of(tile_byte(core)), 1);
    }
    SALS_DEVICE static void preload_rest(GM_ADDR plan, int32_t core, int32_t num_cores) {
        const int32_t last = smaller<int32_t>(num_cores, MAX_CORES);
        preload_all_but(plan, line_of(row_byte(core)), line_of(row_byte(0)), line_of(row_byte(last)));
        preload_all_but(plan, line_of(tile_byte(core)), line_of(tile_byte(0)), line_of(tile_byte(last)));
    }

    SALS_DEVICE bool is_valid() const { return is_valid_; }
    SALS_DEVICE int32_t num_merges() const { return num_merges_; }
    SALS_DEVICE RowRange refused_rows() const { return is_valid_ ? RowRange{0, 0} : unplanned_; }

    // As PlanWalk::next(); the slot of a cut row is the number of its merge.
    SALS_DEVICE bool next(Piece& piece) {
        const bool in_last = row_ == end_row_;
        if (row_ > end_row_ || (in_last && tile_ >= end_tile_)) return next_unplanned(piece);
        piece = {row_, tile_, in_last ? end_tile_ : ROW_END, NO_SLOT};
        if (tile_ > 0) {
            piece.slot = first_merge_;
        } else if (in_last) {
            piece.slot = last_merge_;
        }
        ++row_;
        tile_ = 0;
        return true;
    }

    // The row of a merge: the merge-th of the rows that boundaries cut.
    SALS_DEVICE int32_t merge_row(int32_t merge, int32_t num_cores) const {
        int32_t found = -1;
        int32_t last_row = -1;
        for (int32_t i = 1; i < num_cores; ++i) {
            if (tile_begin(i) == 0 || row_begin(i) == last_row) continue;
            last_row = row_begin(i);
            if (++found == merge) break;
        }
        return last_row;
    }

    // Whether a core works on a piece of a row, and whether that piece does not begin the row.
    SALS_DEVICE bool has_piece(int32_t core, int32_t row) const {
        const int32_t end = row_begin(core + 1);
        const bool is_empty = row_begin(core) == end && tile_begin(core) == tile_begin(core + 1);
        return !is_empty && row_begin(core) <= row && (row < end || (row == end && tile_begin(core + 1) > 0));
    }
    SALS_DEVICE bool begins_inside(int32_t core, int32_t row) const {
        return row_begin(core) == row && tile_begin(core) > 0;
    }

private:
    SALS_DEVICE static int64_t row_byte(int32_t core) {
        return offsetof(Plan, row_begin) + core * int64_t{sizeof(int32_t)};
    }
    SALS_DEVICE static int64_t tile_byte(int32_t core) {
        return offsetof(Plan, tile_begin) + core * int64_t{sizeof(int32_t)};
    }
    SALS_DEVICE static int64_t line_of(int64_t byte) { return byte / AtlasA2::CACHE_LINE_BYTES; }

    SALS_DEVICE static void preload_all_but(GM_ADDR plan, int64_t line, int64_t first, int64_t last) {
        preload_lines(plan, first, line - first);
        preload_lines(plan, line + 1, last - line);
    }

    // From byte `begin` to the last of the boundaries that begin at byte `boundaries`.
    SALS_DEVICE static void preload_words(GM_ADDR plan, int64_t begin, int64_t boundaries,
                                          int32_t num_cores) {
        const int64_t last = boundaries + smaller<int64_t>(num_cores, MAX_CORES) * int64_t{sizeof(int32_t)};
        const int64_t first_line = begin / AtlasA2::CACHE_LINE_BYTES;
        preload_lines(plan, first_line, last / AtlasA2::CACHE_LINE_BYTES - first_line + 1);
    }

    SALS_DEVICE bool next_unplanned(Piece& piece) {
        if (!is_valid_ || unplanned_.begin >= unplanned_.end) return false;
        piece = {unplanned_.begin++, 0, ROW_END, NO_SLOT};
        return true;
    }

    SALS_DEVICE void forget_plan() {
        num_rows_ = num_merges_ = 0;
        row_ = end_row_ = tile_ = end_tile_ = 0;
    }

    SALS_DEVICE int32_t word(size_t byte_offset) const {
        return words_.GetValue(static_cast<uint64_t>(byte_offset / sizeof(int32_t)));
    }
    SALS_DEVICE int32_t row_begin(int32_t i) const {
        return word(offsetof(Plan, row_begin) + i * sizeof(int32_t));
    }
    SALS_DEVICE int32_t tile_begin(int32_t i) const {
        return word(offsetof(Plan, tile_begin) + i * sizeof(int32_t));
    }

    SALS_DEVICE bool fits(PlanOp op, int32_t tile_tokens, int32_t rows, int32_t num_cores) {
        num_rows_ = word(offsetof(Plan, num_rows));
        return word(offsetof(Plan, magic)) == PLAN_MAGIC && word(offsetof(Plan, version)) == PLAN_VERSION &&
               word(offsetof(Plan, op)) == static_cast<int32_t>(op) &&
               word(offsetof(Plan, num_cores)) == num_cores && num_cores <= MAX_CORES &&
               word(offsetof(Plan, tile_tokens)) == tile_tokens && num_rows_ >= 0 && num_rows_ <= rows;
    }

    // Boundaries must ascend from the first row to behind the last. Cut rows are counted on the way.
    SALS_DEVICE bool read_boundaries(int32_t core, int32_t num_cores) {
        int32_t row = 0;
        int32_t tile = 0;
        int32_t cut_row = -1;
        for (int32_t i = 0; i <= num_cores; ++i) {
            const int32_t next_row = row_begin(i);
            const int32_t next_tile = tile_begin(i);
            const bool ascends = next_row > row || (next_row == row && next_tile >= tile);
            const bool ends = next_row == num_rows_ && next_tile == 0;
            if (!ascends || next_row > num_rows_ || next_tile < 0) return false;
            if ((i == 0 && (next_row != 0 || next_tile != 0)) || (i == num_cores && !ends)) return false;
            if (next_row == num_rows_ && !ends) return false;
            row = next_row;
            tile = next_tile;
            if (tile > 0 && row != cut_row) {
                cut_row = row;
                ++num_merges_;
            }
            take_boundary(i - core, row, tile);
        }
        return true;
    }

    SALS_DEVICE void take_boundary(int32_t which, int32_t row, int32_t tile) {
        if (which == 0) {
            row_ = row;
            tile_ = tile;
            first_merge_ = num_merges_ - 1;
        } else if (which == 1) {
            end_row_ = row;
            end_tile_ = tile;
            last_merge_ = num_merges_ - 1;
        }
    }

    AscendC::GlobalTensor<int32_t> words_;
    bool is_valid_ = true;
    int32_t num_rows_ = 0;
    int32_t num_merges_ = 0;
    int32_t row_ = 0, tile_ = 0, end_row_ = 0, end_tile_ = 0;
    int32_t first_merge_ = NO_SLOT;  // of the row that the core begins inside
    int32_t last_merge_ = NO_SLOT;   // of the row that the core ends inside
    RowRange unplanned_{};           // still to be taken
};

}  // namespace sals
