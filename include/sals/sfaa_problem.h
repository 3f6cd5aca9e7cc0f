// SPDX-License-Identifier: Apache-2.0
// sfaa_problem.h - dimensions of a sparse attention call and all rules its arguments obey. Host only.
#pragma once
#include <string>

#include "sals/cache_rules.h"
#include "sals/request_axis.h"
#include "sals/selection_rules.h"

namespace sals {

struct SfaaArgs {
    TensorSpec query, key_cache, value_cache, key_scale, value_scale, block_ids, selected_lens, block_table;
    RequestArgs request;
    double scale = 0.0;
    int64_t block_size = DEFAULT_BLOCK_SIZE;
    std::string layout = "PA_BNSD";
};

struct SfaaProblem {
    RequestAxis axis;
    CacheShape cache{};
    int64_t n_q = 0;
    int64_t n_kv = 0;
    int64_t group = 0;
    int64_t head_dim = 0;     // of the query; the cache row may be longer (padded_head_dim)
    int64_t list_tokens = 0;  // token rows of block_ids: axis.tokens, or batch when one list serves a request
    int64_t list_heads = 0;   // n_kv, or 1 for a list that serves all heads
    int64_t width = 0;        // columns of block_ids
    int64_t block_size = 0;
    int64_t max_pages = 0;
    bool static_scales = false;  // per channel instead of per token and head
    bool shared_list() const { return axis.layout == QueryLayout::BSND && list_tokens == axis.batch; }
    int64_t rows() const { return list_tokens * n_kv; }
};

inline void check_types(Checker& check, const SfaaArgs& a) {
    const auto query_layout = check_query_layout(check, a.request.query_layout);
    const auto layout = check_layout(check, a.layout);
    if (!check.ok()) return;
    check_request_types(check, a.request, a.query, *query_layout);
    for (const TensorSpec* t : {&a.key_cache, &a.key_scale, &a.value_scale, &a.block_ids, &a.selected_lens}) {
        check.present(*t);
    }
    if (*layout == KvLayout::PA_KV) {
        check.absent(a.value_cache, "with layout PA_KV");
    } else {
        check.present(a.value_cache, "with layout " + a.layout);
    }
    for (const TensorSpec* t : {&a.key_cache, &a.value_cache, &a.key_scale, &a.value_scale, &a.block_ids,
                                &a.selected_lens, &a.block_table}) {
        check.same_device(*t, a.query);
    }
    check.dtype(a.query, {DType::FLOAT16, DType::BFLOAT16, DType::FLOAT32});
    check.dtype(a.key_cache, {DType::INT8});
    check.dtype(a.value_cache, {DType::INT8});
    check.dtype(a.key_scale, {DType::FLOAT32});
    check.dtype(a.value_scale, {DType::FLOAT32});
    check.dtype(a.block_ids, {DType::INT32});
    check.dtype(a.selected_lens, {DType::INT32});
    const bool tnd = query_layout == QueryLayout::TND;
    check.ndim(a.query, tnd ? "[tokens, n_q, head_dim]" : "[batch, s_q, n_q, head_dim]", tnd ? 3 : 4);
    const CacheAxes cache_axes = kv_cache_axes({*layout, 0, 0, 0, 0});
    check.ndim(a.key_cache, cache_axes.axes, kv_cache_ndim(*layout));
    check.ndim(a.value_cache, cache_axes.axes, kv_cache_ndim(*layout));
    check.ndim(a.block_ids, tnd ? "[tokens, n_kv or 1, width]" : "[batch, s_q or 1, n_kv or 1, width]",
               tnd ? 3 : 4);
    check.ndim(a.selected_lens, tnd ? "[tokens, n_kv or 1]" : "[batch, s_q or 1, n_kv or 1]", tnd ? 2 : 3);
    for (const TensorSpec* t : {&a.key_scale, &a.value_scale}) {
        if (t->shape.size() != 2) {
            check.ndim(*t, "[n_kv, head_dim] (static, per channel) or one scale per token and head", 3);
        }
    }
    check_block_table_types(check, a.block_table, *layout, a.layout);
}

// Scales per channel (static) or per token and head.
inline void check_kv_scale(Checker& check, const TensorSpec& scale, const CacheShape& cache, bool is_static,
                           int64_t n_kv, int64_t head_dim) {
    if (is_static) {
        check.shape(scale, "[n_kv, head_dim]", {n_kv, head_dim});
    } else {
        const ScaleAxes axes = token_scale_axes(cache);
        check.shape(scale, axes.axes, axes.shape);
    }
    check.contiguous(scale);
}

inline void check_kv_scales(Checker& check, const SfaaArgs& a, const SfaaProblem& p) {
    check.require(a.key_scale.shape.size() == a.value_scale.shape.size(),
                  "value_scale must be of the same kind as key_scale " + shape_text(a.key_scale.shape) +
                      ", got " + shape_text(a.value_scale.shape));
    for (const TensorSpec* t : {&a.key_scale, &a.value_scale}) {
        check_kv_scale(check, *t, p.cache, p.static_scales, p.n_kv, p.head_dim);
    }
}

inline void check_lists(Checker& check, const SfaaArgs& a, SfaaProblem& p) {
    const std::vector<int64_t>& ids = a.block_ids.shape;
    const bool tnd = p.axis.layout == QueryLayout::TND;
    p.width = ids.back();
    p.list_heads = ids[ids.size() - 2] == 1 ? 1 : p.n_kv;
    const bool shared = !tnd && ids[1] == 1;
    p.list_tokens = shared ? p.axis.batch : p.axis.tokens;
    std::vector<int64_t> expected = query_shape(p.axis, {p.list_heads, p.width});
    if (shared) expected[1] = 1;
    check.shape(a.block_ids, tnd ? "[tokens, n_kv or 1, width]" : "[batch, s_q or 1, n_kv or 1, width]",
                expected);
    expected.pop_back();
    check.shape(a.selected_lens, tnd ? "[tokens, n_kv or 1]" : "[batch, s_q or 1, n_kv or 1]", expected);
}

// The key cache, and the value cache where the layout has one apart.
inline void check_kv_caches(Checker& check, const TensorSpec& key, const TensorSpec& value,
                            const CacheShape& shape, int64_t n_kv, int64_t head_dim) {
    CacheShape expected = shape;
    expected.heads = n_kv;
    const bool has_exact_row = !has_planes(shape.layout) || head_dim % PLANE_BYTES == 0;
    const bool is_padded = shape.row_bytes == padded_head_dim(head_dim);
    expected.row_bytes = has_exact_row && !is_padded ? head_dim : padded_head_dim(head_dim);
    const CacheAxes axes = kv_cache_axes(expected);
    check.shape(key, axes.axes, axes.shape);
    check.contiguous(key);
    if (!value.present) return;
    check.shape(value, axes.axes, key.shape);
    check.contiguous(value);
}

inline Status validate(const char* op, const SfaaArgs& a, SfaaProblem& out) {
    Checker check(op);
    check_types(check, a);
    if (!check.ok()) return check.status();
    const auto query_layout = *value_named(QUERY_LAYOUTS, a.request.query_layout);
    const auto layout = *value_named(KV_LAYOUTS, a.layout);
    out.axis = check_request_axis(check, a.request, a.query, query_layout);
    out.cache = read_cache_shape(layout, a.key_cache, 1);
    out.head_dim = a.query.shape.back();
    out.n_q = a.query.shape[a.query.shape.size() - 2];
    out.n_kv = out.cache.heads;
    out.block_size = a.block_size;
    out.static_scales = a.key_scale.shape.size() == 2;
    check.require(
        is_supported_head_dim(out.head_dim),
        "query must have head_dim 64, 80, 96, 128, 192 or 256, got " + std::to_string(out.head_dim));
    check.require(out.n_kv > 0 && out.n_q > 0 && out.n_q % out.n_kv == 0,
                  "query must have n_q a positive multiple of n_kv = " + std::to_string(out.n_kv) +
                      ", got n_q " + std::to_string(out.n_q));
    check_block_size(check, a.block_size);
    check.finite_float32("scale", a.scale);
    if (!check.ok()) return check.status();
    out.group = out.n_q / out.n_kv;
    check_kv_caches(check, a.key_cache, a.value_cache, out.cache, out.n_kv, out.head_dim);
    check_kv_scales(check, a, out);
    check_lists(check, a, out);
    check.range("query list rows (lists * n_kv)", out.rows(), 0, MAX_LIST_ROWS);
    if (out.shared_list()) {
        check.range("query rows of a list (group * s_q)", out.group * out.axis.s_q, 0, MAX_QUERY_ROWS);
    }
    out.max_pages = check_pages(check, a.block_table, a.key_cache, out.cache, out.axis.batch, out.block_size);
    return check.status();
}

}  // namespace sals
