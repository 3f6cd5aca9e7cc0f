// SPDX-License-Identifier: Apache-2.0
// list_row.h - a list row: whose list it is, which query rows attend to it, and what they see. Query row
// s * group + g is head (head * group + g) of query token s.
#pragma once
#include "sfaa/arguments.h"

namespace sals::sfaa {

struct ListRow {
    int32_t head;  // KV head
    int32_t request;
    int32_t list;     // row of block_ids
    int32_t token;    // first query token, in the query
    int32_t s;        // the same in its request
    int32_t q_len;    // real query tokens of the request
    int32_t seq_len;  // visible to the newest of them, not negative
};

class ListTable {
public:
    SALS_DEVICE ListTable(const SfaaTiling& tiling, const Arguments& args) : tiling_(tiling) {
        seq_lens_ = global_tensor<int32_t>(args.seq_lens);
        has_query_lens_ = args.query_lens != nullptr;
        query_lens_ = global_tensor<int32_t>(args.query_lens);
        query_start_loc_ = global_tensor<int32_t>(args.query_start_loc);
    }

    SALS_DEVICE const SfaaTiling& tiling() const { return tiling_; }

    // Row of block_ids.
    SALS_DEVICE int32_t list_of(int32_t index) const {
        const int32_t head = tiling_.list_heads == 1 ? 0 : index % tiling_.n_kv;
        return index / tiling_.n_kv * tiling_.list_heads + head;
    }

    SALS_DEVICE ListRow at(int32_t index) const {
        const int32_t list_token = index / tiling_.n_kv;
        ListRow row;
        row.head = index % tiling_.n_kv;
        row.list = list_of(index);
        row.token = tiling_.is_shared ? list_token * tiling_.s_q : list_token;
        row.seq_len = 0;
        row.q_len = 0;
        if (tiling_.query_layout == static_cast<int32_t>(QueryLayout::TND)) {
            find_in_ragged(row);
        } else {
            row.request = row.token / tiling_.s_q;
            row.s = row.token % tiling_.s_q;
            row.q_len = tiling_.s_q;
            if (has_query_lens_) row.q_len = smaller(query_lens_.GetValue(row.request), tiling_.s_q);
            row.seq_len = clamped_length(row.request);
        }
        return row;
    }

    // Positions below this are seen by query token s of the request; none by one that is padding.
    SALS_DEVICE int32_t visible(const ListRow& row, int32_t s) const {
        if (s >= row.q_len) return 0;
        return tiling_.is_causal ? static_cast<int32_t>(visible_tokens(row.seq_len, row.q_len, s))
                                 : row.seq_len;
    }

    // Positions below this are seen by any query token of the list.
    SALS_DEVICE int32_t visible(const ListRow& row) const {
        if (!tiling_.is_shared) return visible(row, row.s);
        return row.q_len > 0 ? row.seq_len : 0;
    }

private:
    SALS_DEVICE int32_t clamped_length(int32_t request) const {
        return smaller(larger(seq_lens_.GetValue(request), 0), tiling_.max_visible);
    }

    // The last request that begins at or before the token; a token behind its end belongs to none.
    SALS_DEVICE void find_in_ragged(ListRow& row) const {
        row.request = 0;
        row.s = 0;
        if (tiling_.batch == 0) return;
        int32_t end = tiling_.batch;
        while (end - row.request > 1) {
            const int32_t middle = row.request + (end - row.request) / 2;
            if (query_start_loc_.GetValue(middle) <= row.token) {
                row.request = middle;
            } else {
                end = middle;
            }
        }
        const int32_t begin = query_start_loc_.GetValue(row.request);
        if (row.token < begin) return;
        row.s = row.token - begin;
        row.q_len = query_start_loc_.GetValue(row.request + 1) - begin;
        row.seq_len = clamped_length(row.request);
    }

    const SfaaTiling& tiling_;
    AscendC::GlobalTensor<int32_t> seq_lens_, query_lens_, query_start_loc_;
    bool has_query_lens_;
};

}  // namespace sals::sfaa
