// SPDX-License-Identifier: Apache-2.0
// cache_problem.h - dimensions and rules of the operators around the caches: project_query, write_cache.
// Host only.
#pragma once
#include <string>

#include "sals/cache_rules.h"
#include "sals/sfaa_problem.h"

namespace sals {

struct ProjectQueryArgs {
    TensorSpec query, projection;
    int64_t n_idx = 0;
    double scale = 0.0;
};

// Index head i sees the mean of each KV head's query group; with n_idx 1 and more KV heads the means stand
// side by side (one joint latent), otherwise index head i is KV head i.
struct ProjectQueryProblem {
    int64_t tokens = 0;
    int64_t n_q = 0;
    int64_t n_idx = 0;
    int64_t heads_per_index = 0;  // KV heads joined in one latent
    int64_t group = 0;
    int64_t head_dim = 0;
    int64_t rank = 0;
};

// in_dim and rank of a projection [n_idx, in_dim, rank] over heads of head_dim channels.
inline int64_t check_projection(Checker& check, const TensorSpec& projection, int64_t n_idx,
                                int64_t head_dim) {
    check.require(projection.shape[0] == n_idx,
                  "projection must have shape [n_idx, in_dim, rank] with n_idx = " + std::to_string(n_idx) +
                      ", got " + shape_text(projection.shape));
    const int64_t in_dim = projection.shape[1];
    check.require(is_supported_rank(projection.shape[2]),
                  "projection must have rank (last axis) in 8, 16, ..., " + std::to_string(MAX_RANK) +
                      ", got shape " + shape_text(projection.shape));
    check.require(in_dim > 0 && in_dim % head_dim == 0 && (n_idx == 1 || in_dim == head_dim),
                  "projection must have in_dim = head_dim = " + std::to_string(head_dim) +
                      " (or, for one joint index head, a multiple of it), got shape " +
                      shape_text(projection.shape));
    check.contiguous(projection);
    return check.ok() ? in_dim / head_dim : 1;
}

inline void check_types(Checker& check, const ProjectQueryArgs& a) {
    check.present(a.query);
    check.present(a.projection);
    check.same_device(a.projection, a.query);
    check.dtype(a.query, {DType::FLOAT16, DType::BFLOAT16, DType::FLOAT32});
    check.dtype(a.projection, {DType::FLOAT32});
    if (a.query.shape.size() != 3) {
        check.ndim(a.query, "[batch, s_q, n_q, head_dim] or [tokens, n_q, head_dim]", 4);
    }
    check.ndim(a.projection, "[n_idx, in_dim, rank]", 3);
}

inline Status validate(const char* op, const ProjectQueryArgs& a, ProjectQueryProblem& out) {
    Checker check(op);
    check_types(check, a);
    check.range("n_idx", a.n_idx, 1, INT32_MAX);
    check.finite_float32("scale", a.scale);
    if (!check.ok()) return check.status();
    const std::vector<int64_t>& q = a.query.shape;
    out.tokens = q.size() == 4 ? q[0] * q[1] : q[0];
    out.n_q = q[q.size() - 2];
    out.head_dim = q.back();
    out.n_idx = a.n_idx;
    check.require(
        is_supported_head_dim(out.head_dim),
        "query must have head_dim 64, 80, 96, 128, 192 or 256, got " + std::to_string(out.head_dim));
    if (!check.ok()) return check.status();
    out.heads_per_index = check_projection(check, a.projection, a.n_idx, out.head_dim);
    out.rank = a.projection.shape[2];
    const int64_t n_kv = a.n_idx * out.heads_per_index;
    check.require(out.n_q > 0 && out.n_q % n_kv == 0,
                  "query must have n_q a positive multiple of the projected KV heads = " +
                      std::to_string(n_kv) + ", got n_q " + std::to_string(out.n_q));
    out.group = check.ok() ? out.n_q / n_kv : 1;
    return check.status();
}

struct WriteCacheArgs {
    TensorSpec key, value, index_key, projection, slot_mapping;
    TensorSpec key_cache, value_cache, index_cache, index_scale, key_scale, value_scale;
    std::string layout = "PA_BNSD";
    bool static_scales = false;
};

struct WriteCacheProblem {
    CacheShape kv{};
    CacheShape index{};
    int64_t tokens = 0;
    int64_t n_kv = 0;
    int64_t n_idx = 0;
    int64_t heads_per_index = 0;
    int64_t head_dim = 0;
    int64_t rank = 0;
    bool static_scales = false;
    int64_t slots() const { return kv.num_pages * kv.page_size; }
};

inline void check_types(Checker& check, const WriteCacheArgs& a) {
    const auto layout = check_layout(check, a.layout);
    if (!check.ok()) return;
    for (const TensorSpec* t : {&a.key, &a.value, &a.index_key, &a.projection, &a.slot_mapping, &a.key_cache,
                                &a.index_cache, &a.index_scale, &a.key_scale, &a.value_scale}) {
        check.present(*t);
    }
    if (*layout == KvLayout::PA_KV) {
        check.absent(a.value_cache, "with layout PA_KV");
    } else {
        check.present(a.value_cache, "with layout " + a.layout);
    }
    for (const TensorSpec* t :
         {&a.value, &a.index_key, &a.projection, &a.slot_mapping, &a.key_cache, &a.value_cache,
          &a.index_cache, &a.index_scale, &a.key_scale, &a.value_scale}) {
        check.same_device(*t, a.key);
    }
    check.dtype(a.key, {DType::FLOAT16, DType::BFLOAT16, DType::FLOAT32});
    check.dtype(a.value, {a.key.dtype});
    check.dtype(a.index_key, {a.key.dtype});
    check.dtype(a.slot_mapping, {DType::INT32});
    check.dtype(a.key_cache, {DType::INT8});
    check.dtype(a.value_cache, {DType::INT8});
    check.dtype(a.index_cache, {DType::INT32});
    for (const TensorSpec* t : {&a.projection, &a.index_scale, &a.key_scale, &a.value_scale}) {
        check.dtype(*t, {DType::FLOAT32});
    }
    for (const TensorSpec* t : {&a.key, &a.value, &a.index_key})
        check.ndim(*t, "[tokens, n_kv, head_dim]", 3);
    check.ndim(a.projection, "[n_idx, in_dim, rank]", 3);
    check.ndim(a.slot_mapping, "[tokens]", 1);
    const KvLayout in_index = index_layout(*layout);
    check.ndim(a.key_cache, kv_cache_axes({*layout, 0, 0, 0, 0}).axes, kv_cache_ndim(*layout));
    check.ndim(a.value_cache, kv_cache_axes({*layout, 0, 0, 0, 0}).axes, kv_cache_ndim(*layout));
    check.ndim(a.index_cache, index_cache_axes({in_index, 0, 0, 0, 0}).axes, index_cache_ndim(in_index));
    check.ndim(a.index_scale, token_scale_axes({in_index, 0, 0, 0, 0}).axes, 3);
    for (const TensorSpec* t : {&a.key_scale, &a.value_scale}) {
        if (a.static_scales) {
            check.ndim(*t, "[n_kv, head_dim] with static_scales", 2);
        } else {
            check.ndim(*t, token_scale_axes({*layout, 0, 0, 0, 0}).axes, 3);
        }
    }
}

inline void check_written_caches(Checker& check, const WriteCacheArgs& a, const WriteCacheProblem& p) {
    check_kv_caches(check, a.key_cache, a.value_cache, p.kv, p.n_kv, p.head_dim);
    CacheShape index = p.kv;
    index.layout = p.index.layout;
    index.heads = p.n_idx;
    index.row_bytes = p.rank / 2;
    const CacheAxes axes = index_cache_axes(index);
    check.shape(a.index_cache, axes.axes, axes.shape);
    check.contiguous(a.index_cache);
    check.require(!has_planes(p.index.layout) || p.rank % 64 == 0,
                  "projection must have a rank that is a multiple of 64 with layout " + a.layout + ", got " +
                      std::to_string(p.rank));
    const ScaleAxes index_scales = token_scale_axes(index);
    check.shape(a.index_scale, index_scales.axes, index_scales.shape);
    check.contiguous(a.index_scale);
    for (const TensorSpec* t : {&a.key_scale, &a.value_scale}) {
        check_kv_scale(check, *t, p.kv, p.static_scales, p.n_kv, p.head_dim);
    }
}

inline Status validate(const char* op, const WriteCacheArgs& a, WriteCacheProblem& out) {
    Checker check(op);
    check_types(check, a);
    if (!check.ok()) return check.status();
    const KvLayout layout = *value_named(KV_LAYOUTS, a.layout);
    out.kv = read_cache_shape(layout, a.key_cache, 1);
    out.index = read_cache_shape(index_layout(layout), a.index_cache, 4);
    out.tokens = a.key.shape[0];
    out.n_kv = a.key.shape[1];
    out.head_dim = a.key.shape[2];
    out.n_idx = a.projection.shape[0];
    out.rank = a.projection.shape[2];
    out.static_scales = a.static_scales;
    check.require(is_supported_head_dim(out.head_dim),
                  "key must have head_dim 64, 80, 96, 128, 192 or 256, got " + std::to_string(out.head_dim));
    check.require(out.n_kv > 0, "key must have n_kv > 0, got shape " + shape_text(a.key.shape));
    if (!check.ok()) return check.status();
    check.shape(a.value, "[tokens, n_kv, head_dim]", a.key.shape);
    check.shape(a.index_key, "[tokens, n_kv, head_dim]", a.key.shape);
    check.shape(a.slot_mapping, "[tokens]", {out.tokens});
    out.heads_per_index = check_projection(check, a.projection, out.n_idx, out.head_dim);
    check.require(out.n_idx * out.heads_per_index == out.n_kv,
                  "projection must cover all n_kv = " + std::to_string(out.n_kv) + " heads, got shape " +
                      shape_text(a.projection.shape));
    check_written_caches(check, a, out);
    return check.status();
}

}  // namespace sals
