// SPDX-License-Identifier: Apache-2.0
// row_info.h - a list row: whose it is, what it sees, which blocks compete, and whether their scores matter.
#pragma once
#include "qsi/arguments.h"

namespace sals::qsi {

struct RowInfo {
    int32_t row;    // token * n_idx + head
    int32_t token;  // in the query tensors
    int32_t head;
    int32_t request;
    int32_t visible;  // tokens
    int32_t first;    // candidate blocks are [first, first + n)
    int32_t n;
    int32_t k;       // candidates kept; in coverage mode the most that may be
    bool is_scored;  // whether the choice depends on scores
};

class RowTable {
public:
    SALS_DEVICE RowTable(const QsiTiling& tiling, const Arguments& args)
        : tiling_(tiling), params_(selection_params(tiling)) {
        lengths_ = args.seq_lens;
        block_table_ = args.block_table;
        seq_lens_ = global_tensor<int32_t>(args.seq_lens);
        has_query_lens_ = args.query_lens != nullptr;
        query_lens_ = global_tensor<int32_t>(args.query_lens);
        query_start_loc_ = global_tensor<int32_t>(args.query_start_loc);
    }

    SALS_DEVICE const QsiTiling& tiling() const { return tiling_; }
    SALS_DEVICE const SelectionParams& params() const { return params_; }

    // Fetches into the scalar cache what the first load of a row needs, all at once: the length of its
    // request and the page of its candidate token `token`. In TND the request must be searched first.
    SALS_DEVICE void preload(int32_t row, int64_t token) const {
        if (tiling_.query_layout == static_cast<int32_t>(QueryLayout::TND)) return;
        const int64_t request = row / tiling_.n_idx / tiling_.s_q;
        preload_word(lengths_, request);
        if (block_table_ == nullptr) return;
        const int64_t column = (params_.sink_blocks * params_.block_size + token) / tiling_.page_size;
        if (column < tiling_.max_pages) preload_word(block_table_, request * tiling_.max_pages + column);
    }

    SALS_DEVICE RowInfo at(int32_t row) const {
        RowInfo info;
        info.row = row;
        info.token = row / tiling_.n_idx;
        info.head = row % tiling_.n_idx;
        const bool is_tnd = tiling_.query_layout == static_cast<int32_t>(QueryLayout::TND);
        const int64_t seen = is_tnd ? ragged_visible(info) : even_visible(info);
        info.visible = static_cast<int32_t>(smaller(larger(seen, int64_t{0}), int64_t{tiling_.max_visible}));
        const BlockRange candidates = candidate_blocks(info.visible, params_);
        info.first = static_cast<int32_t>(candidates.begin);
        info.n = static_cast<int32_t>(candidates.end - candidates.begin);
        fill_budget(info);
        return info;
    }

    // Candidates that a row keeps at least, whatever its scores; k is the most.
    SALS_DEVICE int32_t min_kept(const RowInfo& row) const {
        if (params_.coverage_q == 0 || params_.coverage_q >= COVERAGE_ONE) return row.k;
        return static_cast<int32_t>(clamp_budget<int64_t>(0, row.n, params_));
    }

private:
    SALS_DEVICE static void preload_word(GM_ADDR tensor, int64_t index) {
        preload_lines(tensor, index * int64_t{sizeof(int32_t)} / AtlasA2::CACHE_LINE_BYTES, 1);
    }

    SALS_DEVICE void fill_budget(RowInfo& row) const {
        const bool by_coverage = params_.coverage_q > 0;
        row.k = static_cast<int32_t>(by_coverage ? clamp_budget<int64_t>(row.n, row.n, params_)
                                                 : budget_blocks<int64_t>(row.n, params_));
        const bool needs_order = tiling_.order == static_cast<int32_t>(SelectionOrder::SCORE);
        const bool is_open = needs_order || row.k < row.n || min_kept(row) < row.k;
        row.is_scored = row.k > 0 && is_open;
    }

    SALS_DEVICE int64_t even_visible(RowInfo& info) const {
        info.request = info.token / tiling_.s_q;
        const int32_t s = info.token % tiling_.s_q;
        const int32_t given = has_query_lens_ ? query_lens_.GetValue(info.request) : tiling_.s_q;
        return visible_tokens(seq_lens_.GetValue(info.request), smaller(given, tiling_.s_q), s);
    }

    // The last request that begins at or before the token; a token behind its end belongs to none.
    SALS_DEVICE int64_t ragged_visible(RowInfo& info) const {
        info.request = 0;
        if (tiling_.batch == 0) return 0;
        int32_t end = tiling_.batch;
        while (end - info.request > 1) {
            const int32_t middle = info.request + (end - info.request) / 2;
            if (query_start_loc_.GetValue(middle) <= info.token) {
                info.request = middle;
            } else {
                end = middle;
            }
        }
        const int32_t begin = query_start_loc_.GetValue(info.request);
        const int32_t q_len = query_start_loc_.GetValue(info.request + 1) - begin;
        if (info.token < begin) return 0;
        return visible_tokens(seq_lens_.GetValue(info.request), q_len, info.token - begin);
    }

    const QsiTiling& tiling_;
    SelectionParams params_;
    GM_ADDR lengths_;
    GM_ADDR block_table_;
    AscendC::GlobalTensor<int32_t> seq_lens_, query_lens_, query_start_loc_;
    bool has_query_lens_;
};

}  // namespace sals::qsi
