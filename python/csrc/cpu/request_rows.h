// SPDX-License-Identifier: Apache-2.0
// request_rows.h - token rows of a call: to which request each belongs and what it sees; and the check of
// the lengths and page numbers that only the data knows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sals/cache_rules.h"
#include "sals/request_axis.h"
#include "sals/selection.h"

namespace sals::cpu {

struct RequestTensors {
    const int32_t* seq_lens = nullptr;         // [batch]
    const int32_t* query_lens = nullptr;       // [batch] or null
    const int32_t* query_start_loc = nullptr;  // [batch + 1], TND only
    const int32_t* block_table = nullptr;      // [batch, max_pages], paged layouts only
};

struct TokenRow {
    int32_t request;
    int32_t s;      // query token in its request
    int32_t q_len;  // real query tokens of the request
    int32_t seq_len;
    int64_t visible() const { return visible_tokens(seq_len, q_len, s); }
};

// All token rows in order. s_rows is the BSND token axis: s_q, or 1 where one list serves a request (then
// the row stands for the newest token).
inline std::vector<TokenRow> token_rows(const RequestAxis& axis, const RequestTensors& t, int64_t s_rows) {
    std::vector<TokenRow> rows;
    if (axis.layout == QueryLayout::TND) {
        rows.assign(axis.tokens, TokenRow{0, 0, 0, 0});  // rows outside every request see nothing
        for (int64_t b = 0; b < axis.batch; ++b) {
            const int32_t begin = t.query_start_loc[b];
            const int32_t q_len = t.query_start_loc[b + 1] - begin;
            for (int32_t s = 0; s < q_len; ++s) {
                rows[begin + s] = {static_cast<int32_t>(b), s, q_len, t.seq_lens[b]};
            }
        }
        return rows;
    }
    rows.reserve(axis.batch * s_rows);
    for (int64_t b = 0; b < axis.batch; ++b) {
        const int64_t given = t.query_lens != nullptr ? t.query_lens[b] : s_rows;
        const int32_t q_len = static_cast<int32_t>(smaller(given, s_rows));
        for (int64_t s = 0; s < s_rows; ++s) {
            rows.push_back({static_cast<int32_t>(b), static_cast<int32_t>(s), q_len, t.seq_lens[b]});
        }
    }
    return rows;
}

// Lengths against max_len (the smaller of max_seq_len and what the cache can hold), query lengths against
// the query, and every page number that a length makes reachable.
inline Status check_values(const char* op, const RequestAxis& axis, const RequestTensors& t,
                           const CacheShape& cache, int64_t max_pages, int64_t max_seq_len) {
    Checker check(op);
    const auto at = [](const char* name, int64_t b) {
        return std::string(name) + "[" + std::to_string(b) + "]";
    };
    const int64_t capacity = is_paged(cache.layout) ? max_pages * cache.page_size : cache.page_size;
    const int64_t max_len = smaller(max_seq_len, capacity);
    for (int64_t b = 0; b < axis.batch && check.ok(); ++b) {
        const int64_t len = t.seq_lens[b];
        if (len > max_len) {
            const char* what = max_seq_len <= capacity ? "max_seq_len = " : "the tokens its cache can hold, ";
            check.fail(at("seq_lens", b) + " must be at most " + what + std::to_string(max_len) + ", got " +
                       std::to_string(len));
        }
        if (t.query_lens != nullptr) {
            const bool fits = t.query_lens[b] >= 0 && (axis.s_q == 1 || t.query_lens[b] <= axis.s_q);
            check.require(fits, at("query_lens", b) + " must be in [0, " + std::to_string(axis.s_q) +
                                    "], got " + std::to_string(t.query_lens[b]));
        }
        if (t.query_start_loc != nullptr) {
            const bool first = b > 0 || t.query_start_loc[0] == 0;
            const bool rises = t.query_start_loc[b + 1] >= t.query_start_loc[b];
            check.require(first && rises && t.query_start_loc[b + 1] <= axis.tokens,
                          "query_start_loc must start at 0 and ascend to at most tokens = " +
                              std::to_string(axis.tokens) + ", got " + std::to_string(t.query_start_loc[b]) +
                              " and " + std::to_string(t.query_start_loc[b + 1]) + " at " +
                              std::to_string(b));
        }
        if (t.block_table == nullptr) continue;
        const int64_t pages = len > 0 ? ceil_div(len, cache.page_size) : 0;
        for (int64_t i = 0; i < pages && check.ok(); ++i) {
            const int64_t page = t.block_table[b * max_pages + i];
            check.require(page >= 0 && page < cache.num_pages,
                          "block_table[" + std::to_string(b) + ", " + std::to_string(i) +
                              "] must be a page in [0, " + std::to_string(cache.num_pages) + "), got " +
                              std::to_string(page));
        }
    }
    return check.status();
}

}  // namespace sals::cpu
