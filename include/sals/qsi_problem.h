// SPDX-License-Identifier: Apache-2.0
// qsi_problem.h - dimensions of an indexer call (qsi, block_scores) and all rules its arguments obey.
// Host only.
#pragma once
#include <string>

#include "sals/cache_rules.h"
#include "sals/request_axis.h"
#include "sals/selection_rules.h"

namespace sals {

struct QsiArgs {
    TensorSpec query, query_scale, key_cache, key_scale, block_table;
    RequestArgs request;
    SelectionArgs selection;
    std::string layout = "PA_BNSD";
};

struct QsiProblem {
    RequestAxis axis;
    CacheShape cache{};
    SelectionParams selection;
    SelectionOrder order = SelectionOrder::INDEX;
    int64_t n_idx = 0;
    int64_t rank = 0;
    int64_t max_pages = 0;  // columns of block_table
    int64_t max_seq_len = 0;
    int64_t width = 0;  // columns of block_ids
    int64_t rows() const { return axis.tokens * n_idx; }
};

// Presence, device, dtype and number of axes: all that is known even of symbolic tensors.
inline void check_types(Checker& check, const QsiArgs& a) {
    const auto query_layout = check_query_layout(check, a.request.query_layout);
    const auto layout = check_layout(check, a.layout);
    if (!check.ok()) return;
    check.require(layout != KvLayout::PA_KV,
                  "layout must be PA_BNSD, PA_BSND, PA_NZ or BSND for an index cache, got PA_KV");
    check_request_types(check, a.request, a.query, *query_layout);
    for (const TensorSpec* t : {&a.query_scale, &a.key_cache, &a.key_scale}) check.present(*t);
    for (const TensorSpec* t : {&a.query_scale, &a.key_cache, &a.key_scale, &a.block_table}) {
        check.same_device(*t, a.query);
    }
    check.dtype(a.query, {DType::INT32});
    check.dtype(a.query_scale, {DType::FLOAT32});
    check.dtype(a.key_cache, {DType::INT32});
    check.dtype(a.key_scale, {DType::FLOAT32});
    const bool tnd = query_layout == QueryLayout::TND;
    check.ndim(a.query, tnd ? "[tokens, n_idx, rank/8]" : "[batch, s_q, n_idx, rank/8]", tnd ? 3 : 4);
    check.ndim(a.query_scale, tnd ? "[tokens, n_idx]" : "[batch, s_q, n_idx]", tnd ? 2 : 3);
    check.ndim(a.key_cache, index_cache_axes({*layout, 0, 0, 0, 0}).axes, index_cache_ndim(*layout));
    check.ndim(a.key_scale, token_scale_axes({*layout, 0, 0, 0, 0}).axes, 3);
    check_block_table_types(check, a.block_table, *layout, a.layout);
}

inline Status validate(const char* op, const QsiArgs& a, QsiProblem& out) {
    Checker check(op);
    check_types(check, a);
    if (!check.ok()) return check.status();
    const auto query_layout = *value_named(QUERY_LAYOUTS, a.request.query_layout);
    const auto layout = *value_named(KV_LAYOUTS, a.layout);
    out.axis = check_request_axis(check, a.request, a.query, query_layout);
    // One row per request stands for its newest token, however many there are.
    if (out.axis.s_q == 1) out.axis.max_query_len = INT32_MAX;
    const size_t inner = a.query.shape.size();
    out.n_idx = a.query.shape[inner - 2];
    out.rank = a.query.shape[inner - 1] * RANK_MULTIPLE;
    out.cache = read_cache_shape(layout, a.key_cache, 4);
    check.shape(a.query_scale,
                out.axis.layout == QueryLayout::TND ? "[tokens, n_idx]" : "[batch, s_q, n_idx]",
                query_shape(out.axis, {out.n_idx}));
    check.require(is_supported_rank(out.rank), "query must have rank (last axis * 8) in 8, 16, ..., " +
                                                   std::to_string(MAX_RANK) + ", got rank " +
                                                   std::to_string(out.rank));
    check.require(!has_planes(layout) || out.rank % 64 == 0,
                  "query must have a rank that is a multiple of 64 with layout " + a.layout + ", got rank " +
                      std::to_string(out.rank));
    CacheShape expected = out.cache;
    expected.heads = out.n_idx;
    expected.row_bytes = out.rank / 2;
    const CacheAxes axes = index_cache_axes(expected);
    check.shape(a.key_cache, axes.axes, axes.shape);
    const ScaleAxes scales = token_scale_axes(out.cache);
    check.shape(a.key_scale, scales.axes, scales.shape);
    check.contiguous(a.key_cache);
    check.contiguous(a.key_scale);
    out.selection = check_selection(check, a.selection);
    check.range("query list rows (query tokens * n_idx)", out.rows(), 0, MAX_LIST_ROWS);
    if (!check.ok()) return check.status();
    out.max_pages =
        check_pages(check, a.block_table, a.key_cache, out.cache, out.axis.batch, out.selection.block_size);
    out.order = *value_named(SELECTION_ORDERS, a.selection.order);
    out.max_seq_len = a.selection.max_seq_len;
    out.width = list_width(out.max_seq_len, out.selection);
    return check.status();
}

}  // namespace sals
