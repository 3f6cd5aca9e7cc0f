// SPDX-License-Identifier: Apache-2.0
// rows.h - to which request a token row belongs, what it sees, and in which page a token stands.
#pragma once
#include "cuda/device.h"
#include "cuda/launch.h"
#include "sals/selection.h"

namespace sals::cuda {

struct TokenRow {
    int32_t request;
    int32_t s;
    int32_t q_len;
    int32_t seq_len;
};

// The request whose span of query_start_loc holds the token, or -1: then no request does.
SALS_DEVICE int32_t request_of_token(const Requests& r, int32_t token) {
    int32_t low = 0, high = r.batch;
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (r.query_start_loc[middle + 1] <= token) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < r.batch && r.query_start_loc[low] <= token ? low : -1;
}

SALS_DEVICE TokenRow token_row(const Requests& r, int32_t token) {
    if (r.query_start_loc != nullptr) {
        const int32_t request = request_of_token(r, token);
        if (request < 0) return {0, 0, 0, 0};
        const int32_t begin = r.query_start_loc[request];
        return {request, token - begin, r.query_start_loc[request + 1] - begin, r.seq_lens[request]};
    }
    const int32_t request = token / r.s_q;
    const int32_t given = r.query_lens != nullptr ? r.query_lens[request] : r.s_q;
    return {request, token % r.s_q, given < r.s_q ? given : r.s_q, r.seq_lens[request]};
}

SALS_DEVICE int32_t clamp_visible(const Requests& r, int64_t visible) {
    return static_cast<int32_t>(visible < 0 ? 0 : visible < r.max_visible ? visible : r.max_visible);
}

SALS_DEVICE int32_t visible_of(const Requests& r, const TokenRow& row) {
    return clamp_visible(r, visible_tokens(row.seq_len, row.q_len, row.s));
}

// Page sizes are powers of two in practice; their division is a shift.
struct PageDivider {
    uint32_t size;
    int32_t shift;  // -1: not a power of two
    SALS_DEVICE explicit PageDivider(int32_t page_size)
        : size(static_cast<uint32_t>(page_size)),
          shift((size & (size - 1)) == 0 ? 31 - leading_zeros(size) : -1) {}
    SALS_DEVICE int32_t quotient(int32_t token) const {
        const auto t = static_cast<uint32_t>(token);
        return static_cast<int32_t>(shift >= 0 ? t >> shift : t / size);
    }
};

SALS_DEVICE int32_t page_of(const Requests& r, int32_t request, int32_t page_index) {
    if (r.block_table == nullptr) return request;
    const int32_t page = r.block_table[static_cast<int64_t>(request) * r.max_pages + page_index];
    return page < 0 ? 0 : page < r.num_pages ? page : r.num_pages - 1;
}

}  // namespace sals::cuda
