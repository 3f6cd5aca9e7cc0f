// SPDX-License-Identifier: Apache-2.0
// qsi_share.h - the division of the indexer's work: all steps of 128 tokens of all rows, end to end, in equal
// shares. A thread block finds its share from the lengths alone; a row that several blocks share is chosen
// from by the one that finishes last.
#pragma once
#include "cuda/block_ops.h"
#include "cuda/rows.h"
#include "cuda/score.h"

namespace sals::cuda {

struct BlockSpan {
    int32_t begin, end;
};

SALS_DEVICE int32_t blocks_of(const QsiArguments& a, int32_t visible) {
    const int32_t shift = 31 - leading_zeros(static_cast<uint32_t>(a.tiling.block_size));
    return (visible + a.tiling.block_size - 1) >> shift;
}

// The blocks of a row to score: its candidates, or for block_scores all.
SALS_DEVICE BlockSpan scored_blocks(const QsiArguments& a, int32_t visible) {
    const QsiTiling& t = a.tiling;
    const int32_t blocks = blocks_of(a, visible);
    if (a.selected_lens == nullptr) return {0, blocks};
    const int32_t begin = smaller(t.sink_blocks, blocks);
    return {begin, larger(blocks - t.tail_blocks, begin)};
}

// Steps that hold blocks of a span.
SALS_DEVICE BlockSpan steps_of(const QsiArguments& a, BlockSpan blocks) {
    if (blocks.begin == blocks.end) return {0, 0};
    const int32_t step_shift = 31 - leading_zeros(static_cast<uint32_t>(STEP_TOKENS / a.tiling.block_size));
    return {blocks.begin >> step_shift, ((blocks.end - 1) >> step_shift) + 1};
}

// Rows of one request, and the steps of each: those of its newest token, at least one, so that every row has
// a place. Behind the last request of TND come the rows that belong to none.
struct RequestWork {
    int32_t first_token, rows, first_step, steps;
    SALS_DEVICE int64_t all() const { return static_cast<int64_t>(rows) * steps; }
};

SALS_DEVICE RequestWork request_work(const QsiArguments& a, int32_t request) {
    const Requests& r = a.requests;
    const int32_t tokens = a.tiling.tokens;
    RequestWork work = {request * r.s_q, r.s_q * a.tiling.n_idx, 0, 1};
    if (r.query_start_loc != nullptr) {
        const int32_t begin = larger(smaller(r.query_start_loc[request], tokens), 0);
        const int32_t end = request < r.batch ? smaller(r.query_start_loc[request + 1], tokens) : tokens;
        work.first_token = begin;
        work.rows = larger(end - begin, 0) * a.tiling.n_idx;
        if (request == r.batch) return work;
    }
    const BlockSpan steps = steps_of(a, scored_blocks(a, clamp_visible(r, r.seq_lens[request])));
    work.first_step = steps.begin;
    work.steps = larger(steps.end - steps.begin, 1);
    return work;
}

// A part of a row.
struct RowPart {
    int32_t row;
    BlockSpan steps;  // of this part
    int32_t parts;    // of the row
};

class Shares {
public:
    // All threads call. Threads sum up consecutive requests each, and leave where theirs begin.
    SALS_DEVICE Shares(const QsiArguments& a, int64_t* begins, uint64_t* scratch) : a_(a), begins_(begins) {
        requests_ = a.requests.batch + (a.requests.query_start_loc != nullptr ? 1 : 0);
        each_ = (requests_ + QSI_THREADS - 1) / QSI_THREADS;
        uint64_t mine = 0, total = 0;
        const int32_t first = thread_index() * each_;
        for (int32_t i = first; i < first + each_ && i < requests_; ++i) mine += request_work(a, i).all();
        begins[thread_index()] = static_cast<int64_t>(block_prefix(mine, scratch, total));
        sync_block();
        const int64_t even = ceil_div<int64_t>(static_cast<int64_t>(total), grid_blocks());
        share_ = larger(even, int64_t{QSI_WARPS});
        next_ = block_index() * share_;
        end_ = smaller(next_ + share_, static_cast<int64_t>(total));
    }

    SALS_DEVICE bool next(RowPart& part) {
        if (next_ >= end_) return false;
        int32_t low = 0,
                high = QSI_THREADS - 1;  // the last thread whose requests begin at or before the step
        while (low < high) {
            const int32_t middle = (low + high + 1) / 2;
            if (begins_[middle] <= next_) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        int64_t begin = begins_[low];
        int32_t request = low * each_;
        RequestWork work = request_work(a_, request);
        for (; next_ >= begin + work.all(); work = request_work(a_, ++request)) begin += work.all();
        const auto row = static_cast<int32_t>((next_ - begin) / work.steps);
        const int64_t row_begin = begin + static_cast<int64_t>(row) * work.steps;
        const int64_t row_end = row_begin + work.steps;
        const int64_t part_end = smaller(end_, row_end);
        part.row = work.first_token * a_.tiling.n_idx + row;
        part.steps = {work.first_step + static_cast<int32_t>(next_ - row_begin),
                      work.first_step + static_cast<int32_t>(part_end - row_begin)};
        part.parts = static_cast<int32_t>((row_end - 1) / share_ - row_begin / share_) + 1;
        next_ = part_end;
        return true;
    }

private:
    const QsiArguments& a_;
    const int64_t* begins_;
    int32_t requests_, each_;
    int64_t share_, next_, end_;
};

}  // namespace sals::cuda
