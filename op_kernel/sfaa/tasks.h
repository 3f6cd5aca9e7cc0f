// SPDX-License-Identifier: Apache-2.0
// tasks.h - the order of work that the cube core and the vector cores of a group share. A piece of a list row
// is gone through once per pass, a pass task by task; tasks without tokens are left out. All cores walk the
// same sequence, so nothing but flags passes between them.
#pragma once
#include "common/plan_reader.h"
#include "sfaa/block_list.h"

namespace sals::sfaa {

// Some of the query rows of a list row with a piece of its list.
struct Pass {
    ListRow row;
    int32_t visible;      // positions below are seen by any of the list's query tokens
    int32_t query_begin;  // query rows [query_begin, query_begin + query_rows) of the list row
    int32_t query_rows;
    bool is_cut;         // other cores hold other pieces of the row
    bool begins_inside;  // the piece does not begin the row
    int32_t number;      // of passes with tokens
};

struct Task {
    Pass pass;
    Slots slots;
    int32_t columns;        // that the tokens take; 0: a pass without tokens
    int32_t last_position;  // largest position that a column stands for
    int32_t number;
    bool begins_pass;
    bool ends_pass;
};

class TaskWalk {
public:
    SALS_DEVICE TaskWalk(const SfaaTiling& tiling, const Arguments& args, int32_t core, int32_t num_cores)
        : tiling_(tiling),
          rows_(tiling, args),
          list_(tiling, args),
          plan_(args.plan, PlanOp::SFAA, SFAA_TILE_TOKENS, sfaa_rows(tiling), core, num_cores) {
        has_ahead_ = find(ahead_);
    }

    SALS_DEVICE const ListTable& rows() const { return rows_; }
    SALS_DEVICE const BlockList& list() const { return list_; }
    SALS_DEVICE const PlanReader& plan() const { return plan_; }

    // A pass without tokens is one task without columns.
    SALS_DEVICE bool next(Task& task) {
        if (!has_ahead_) return false;
        task = ahead_;
        has_ahead_ = find(ahead_);
        task.ends_pass = !has_ahead_ || ahead_.begins_pass;
        return true;
    }

private:
    SALS_DEVICE bool find(Task& task) {
        for (;;) {
            if (slot_ >= end_ && !next_pass()) return false;
            while (slot_ < end_) {
                task.slots = next_slots();
                slot_ = task.slots.end;
                list_.preload(pass_.row.list, next_slots());
                measure(task);
                if (task.columns > 0) return number(task);
            }
            if (is_fresh_) {
                task.slots = {end_, end_};
                task.columns = 0;
                return number(task);
            }
        }
    }

    SALS_DEVICE Slots next_slots() const {
        return {slot_, smaller(slot_ + sfaa_task_tokens(tiling_.head_dim), end_)};
    }

    SALS_DEVICE void measure(Task& task) const {
        int32_t columns = 0;
        int32_t last = -1;
        list_.for_each_run(pass_.row, pass_.visible, task.slots, [&](const TokenRun& run) {
            columns += run.columns;
            last = larger(last, run.position + run.columns - 1);
        });
        task.columns = columns;
        task.last_position = last;
    }

    SALS_DEVICE bool number(Task& task) {
        task.begins_pass = is_fresh_;
        if (is_fresh_ && task.columns > 0) ++passes_;
        is_fresh_ = false;
        pass_.number = passes_ - 1;
        task.pass = pass_;
        task.number = tasks_;
        if (task.columns > 0) ++tasks_;
        return true;
    }

    SALS_DEVICE bool next_pass() {
        const int32_t rows = sfaa_query_rows(tiling_);
        if (pass_end_ >= rows) {
            Piece piece;
            if (!plan_.next(piece)) return false;
            pass_end_ = 0;
            begin_piece(piece);
        }
        pass_.query_begin = pass_end_;
        pass_.query_rows = smaller(rows - pass_end_, sfaa_pass_rows(tiling_));
        pass_end_ += pass_.query_rows;
        slot_ = piece_.begin;
        end_ = piece_.end;
        list_.preload(pass_.row.list, next_slots());
        is_fresh_ = true;
        return true;
    }

    SALS_DEVICE void begin_piece(const Piece& piece) {
        const int64_t all = list_.slots();
        piece_.begin = static_cast<int32_t>(smaller(piece.tile_begin * SFAA_TILE_TOKENS, all));
        piece_.end = static_cast<int32_t>(smaller(piece.tile_end * SFAA_TILE_TOKENS, all));
        list_.preload(rows_.list_of(piece.row), piece_);  // while lengths are read
        pass_.row = rows_.at(piece.row);
        pass_.visible = rows_.visible(pass_.row);
        if (pass_.visible == 0) piece_.end = piece_.begin;
        pass_.is_cut = piece.slot != NO_SLOT;
        pass_.begins_inside = piece.tile_begin > 0;
    }

    const SfaaTiling& tiling_;
    ListTable rows_;
    BlockList list_;
    PlanReader plan_;
    Pass pass_{};
    Slots piece_{};
    int32_t pass_end_ = INT32_MAX;  // query rows of the current piece that have been given out
    int32_t slot_ = 0, end_ = 0;    // of the list, still to be given out
    bool is_fresh_ = false;         // the pass has given no task
    int32_t passes_ = 0, tasks_ = 0;
    Task ahead_{};
    bool has_ahead_ = false;
};

}  // namespace sals::sfaa
