// SPDX-License-Identifier: Apache-2.0
// cache_rules.h - the rules for cache tensors, their per-token scales and the block table. Host only.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sals/kv_layout.h"
#include "sals/limits.h"
#include "sals/names.h"
#include "sals/tensor_spec.h"

namespace sals {

inline std::optional<KvLayout> check_layout(Checker& check, const std::string& name) {
    const std::optional<KvLayout> layout = value_named(KV_LAYOUTS, name);
    check.require(layout.has_value(), "layout must be one of " + names_in(KV_LAYOUTS) + ", got " + name);
    return layout;
}

// The index cache has no values, so PA_KV stores it as PA_NZ.
inline KvLayout index_layout(KvLayout layout) { return layout == KvLayout::PA_KV ? KvLayout::PA_NZ : layout; }

struct CacheAxes {
    const char* axes;
    std::vector<int64_t> shape;
};

// Axes and shape of a cache of int8 rows (KV) or of int32 words of eight int4 (index).
inline CacheAxes kv_cache_axes(const CacheShape& s) {
    const int64_t planes = s.row_bytes / PLANE_BYTES;
    switch (s.layout) {
        case KvLayout::PA_BNSD:
            return {"[pages, n_kv, page_size, head_dim]", {s.num_pages, s.heads, s.page_size, s.row_bytes}};
        case KvLayout::PA_BSND:
            return {"[pages, page_size, n_kv, head_dim]", {s.num_pages, s.page_size, s.heads, s.row_bytes}};
        case KvLayout::PA_NZ:
            return {"[pages, n_kv, head_dim/32, page_size, 32]",
                    {s.num_pages, s.heads, planes, s.page_size, PLANE_BYTES}};
        case KvLayout::PA_KV:
            return {"[pages, n_kv, 2, head_dim/32, page_size, 32]",
                    {s.num_pages, s.heads, 2, planes, s.page_size, PLANE_BYTES}};
        case KvLayout::BSND:
            break;
    }
    return {"[batch, max_len, n_kv, head_dim]", {s.num_pages, s.page_size, s.heads, s.row_bytes}};
}

inline CacheAxes index_cache_axes(const CacheShape& s) {
    constexpr int64_t WORD_BYTES = 4;
    const int64_t words = s.row_bytes / WORD_BYTES;
    switch (s.layout) {
        case KvLayout::PA_BNSD:
            return {"[pages, n_idx, page_size, rank/8]", {s.num_pages, s.heads, s.page_size, words}};
        case KvLayout::PA_BSND:
            return {"[pages, page_size, n_idx, rank/8]", {s.num_pages, s.page_size, s.heads, words}};
        case KvLayout::PA_NZ:
        case KvLayout::PA_KV:
            return {"[pages, n_idx, rank/64, page_size, 8]",
                    {s.num_pages, s.heads, s.row_bytes / PLANE_BYTES, s.page_size, PLANE_BYTES / WORD_BYTES}};
        case KvLayout::BSND:
            break;
    }
    return {"[batch, max_len, n_idx, rank/8]", {s.num_pages, s.page_size, s.heads, words}};
}

// Reads pages, heads, page_size and row bytes off a cache tensor whose number of axes is right.
// `word_bytes` is the size of an element: 1 for int8 rows, 4 for words of int4.
inline CacheShape read_cache_shape(KvLayout layout, const TensorSpec& cache, int64_t word_bytes) {
    const std::vector<int64_t>& n = cache.shape;
    switch (layout) {
        case KvLayout::PA_BNSD:
            return {layout, n[0], n[1], n[2], n[3] * word_bytes};
        case KvLayout::PA_NZ:
            return {layout, n[0], n[1], n[3], n[2] * PLANE_BYTES};
        case KvLayout::PA_KV:
            return {layout, n[0], n[1], n[4], n[3] * PLANE_BYTES};
        case KvLayout::PA_BSND:
        case KvLayout::BSND:
            break;
    }
    return {layout, n[0], n[2], n[1], n[3] * word_bytes};
}

inline size_t kv_cache_ndim(KvLayout layout) {
    return layout == KvLayout::PA_KV ? 6 : layout == KvLayout::PA_NZ ? 5 : 4;
}

inline size_t index_cache_ndim(KvLayout layout) { return has_planes(layout) ? 5 : 4; }

struct ScaleAxes {
    const char* axes;
    std::vector<int64_t> shape;
};

inline ScaleAxes token_scale_axes(const CacheShape& s) {
    if (s.layout == KvLayout::BSND) return {"[batch, max_len, heads]", {s.num_pages, s.page_size, s.heads}};
    if (s.layout == KvLayout::PA_BSND)
        return {"[pages, page_size, heads]", {s.num_pages, s.page_size, s.heads}};
    return {"[pages, heads, page_size]", {s.num_pages, s.heads, s.page_size}};
}

inline void check_block_table_types(Checker& check, const TensorSpec& table, KvLayout layout,
                                    const std::string& layout_text) {
    if (is_paged(layout)) {
        check.present(table, "with layout " + layout_text);
    } else {
        check.absent(table, "with layout " + layout_text);
    }
    check.dtype(table, {DType::INT32});
    check.ndim(table, "[batch, max_pages]", 2);
}

// What block table, page size and batch owe to each other; returns pages per request.
inline int64_t check_pages(Checker& check, const TensorSpec& table, const TensorSpec& cache,
                           const CacheShape& s, int64_t batch, int64_t block_size) {
    if (!is_paged(s.layout)) {
        check.require(s.num_pages == batch, std::string(cache.name) +
                                                " must have batch = " + std::to_string(batch) +
                                                " as its first axis, got " + shape_text(cache.shape));
        return 1;
    }
    check.shape(table, "[batch, max_pages]", {batch, table.shape[1]});
    check.require(s.page_size > 0 && s.page_size % block_size == 0,
                  std::string(cache.name) + " must have a page_size that is a multiple of block_size = " +
                      std::to_string(block_size) + ", got page_size " + std::to_string(s.page_size));
    return table.shape[1];
}

}  // namespace sals
