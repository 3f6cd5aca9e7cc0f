// SPDX-License-Identifier: Apache-2.0
// request_rows.h - token rows of a call: to which request each belongs and what it sees; and the check of
// the lengths and page numbers that only the data knows. Host only.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sals/cache_rules.h"
#include "sals/request_axis.h"
#include "sals/selection.h"

namespace sals {

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

inline std::string element(const char* name, int64_t i) {
    return std::string(name) + "[" + std::to_string(i) + "]";
}

// Lengths against `max_len`, which `max_len_name` names, and query lengths against the query. Sentences are
// built only for the element that breaks a rule.
inline void check_lengths(Checker& check, const RequestAxis& axis, const RequestTensors& t, int64_t max_len,
                          const char* max_len_name) {
    const auto fail = [&check](const char* name, int64_t b, const std::string& rule, int64_t got) {
        check.fail(element(name, b) + " must be " + rule + ", got " + std::to_string(got));
    };
    if (t.query_start_loc != nullptr && t.query_start_loc[0] != 0) {
        fail("query_start_loc", 0, "0", t.query_start_loc[0]);
    }
    for (int64_t b = 0; b < axis.batch && check.ok(); ++b) {
        if (t.seq_lens[b] > max_len) {
            fail("seq_lens", b, std::string("at most ") + max_len_name + " = " + std::to_string(max_len),
                 t.seq_lens[b]);
        }
        if (t.query_lens != nullptr) {
            const bool fits = t.query_lens[b] >= 0 && t.query_lens[b] <= axis.max_query_len;
            if (!fits)
                fail("query_lens", b, "in [0, " + std::to_string(axis.max_query_len) + "]", t.query_lens[b]);
        }
        if (t.query_start_loc != nullptr) {
            const int64_t begin = t.query_start_loc[b], end = t.query_start_loc[b + 1];
            if (end < begin || end > axis.tokens) {
                fail("query_start_loc", b + 1,
                     "in [" + std::to_string(begin) + ", " + std::to_string(axis.tokens) + "]", end);
            }
        }
    }
}

// Every page number that a length makes reachable.
inline void check_pages_in_table(Checker& check, const RequestAxis& axis, const RequestTensors& t,
                                 const CacheShape& cache, int64_t max_pages) {
    for (int64_t b = 0; b < axis.batch; ++b) {
        const int64_t pages = num_blocks<int64_t>(t.seq_lens[b], cache.page_size);
        for (int64_t i = 0; i < pages; ++i) {
            const int64_t page = t.block_table[b * max_pages + i];
            if (page >= 0 && page < cache.num_pages) continue;
            return check.fail(element("block_table", b) + "[" + std::to_string(i) +
                              "] must be a page in [0, " + std::to_string(cache.num_pages) + "), got " +
                              std::to_string(page));
        }
    }
}

// All that the integers of a call owe to its tensors: no length or page leads outside the cache.
inline Status check_values(const char* op, const RequestAxis& axis, const RequestTensors& t,
                           const CacheShape& cache, int64_t max_pages, int64_t max_seq_len) {
    Checker check(op);
    const int64_t capacity = is_paged(cache.layout) ? max_pages * cache.page_size : cache.page_size;
    if (max_seq_len <= capacity) {
        check_lengths(check, axis, t, max_seq_len, "max_seq_len");
    } else {
        check_lengths(check, axis, t, capacity, "the tokens that the cache of a request can hold");
    }
    // Lengths that are wrong would lead out of the table.
    if (check.ok() && t.block_table != nullptr) check_pages_in_table(check, axis, t, cache, max_pages);
    return check.status();
}

}  // namespace sals
