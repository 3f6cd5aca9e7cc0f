// SPDX-License-Identifier: Apache-2.0
// kv_layout.h - where a byte of a cached row stands. A row is one token's vector of one head: head_dim
// bytes of int8 in the KV cache, rank/2 bytes of int4 in the index cache. Every address in the package
// comes from row_geometry() and scale_offset().
//     PA_BNSD  [pages, heads, page_size, row]
//     PA_BSND  [pages, page_size, heads, row]
//     PA_NZ    [pages, heads, row/32, page_size, 32]           planes of 32 bytes
//     PA_KV    [pages, heads, 2 (K, V), row/32, page_size, 32]  K and V of a head adjacent
//     BSND     [batch, max_len, heads, row]                     dense: a request is its own page
#pragma once
#include <cstdint>

#include "sals/portability.h"

namespace sals {

enum class KvLayout : int32_t { BSND = 0, PA_BSND = 1, PA_BNSD = 2, PA_NZ = 3, PA_KV = 4 };  // fixed for ever

enum class QueryLayout : int32_t { BSND = 0, TND = 1 };  // TND: requests of different length, end to end

inline constexpr int64_t PLANE_BYTES = 32;

SALS_HD bool is_paged(KvLayout layout) { return layout != KvLayout::BSND; }
SALS_HD bool has_planes(KvLayout layout) { return layout == KvLayout::PA_NZ || layout == KvLayout::PA_KV; }
SALS_HD bool is_token_major(KvLayout layout) {
    return layout == KvLayout::BSND || layout == KvLayout::PA_BSND;
}

struct CacheShape {
    KvLayout layout;
    int64_t num_pages;  // BSND: batch
    int64_t heads;
    int64_t page_size;  // BSND: max_len
    int64_t row_bytes;
};

// Byte x of the row at `offset` in the page: base + offset*token_stride + (x/32)*plane_stride + x%32.
struct RowGeometry {
    int64_t base;
    int64_t token_stride;
    int64_t plane_stride;
};

SALS_HD RowGeometry row_geometry(const CacheShape& s, int64_t page, int64_t head, bool is_value) {
    const int64_t page_bytes = s.page_size * s.row_bytes;
    const int64_t page_head = page * s.heads + head;
    switch (s.layout) {
        case KvLayout::PA_BNSD:
            return {page_head * page_bytes, s.row_bytes, PLANE_BYTES};
        case KvLayout::PA_NZ:
            return {page_head * page_bytes, PLANE_BYTES, s.page_size * PLANE_BYTES};
        case KvLayout::PA_KV:
            return {(page_head * 2 + (is_value ? 1 : 0)) * page_bytes, PLANE_BYTES,
                    s.page_size * PLANE_BYTES};
        case KvLayout::PA_BSND:
        case KvLayout::BSND:
            break;
    }
    return {page * s.heads * page_bytes + head * s.row_bytes, s.heads * s.row_bytes, PLANE_BYTES};
}

SALS_HD int64_t row_byte(const RowGeometry& g, int64_t offset, int64_t x) {
    return g.base + offset * g.token_stride + x / PLANE_BYTES * g.plane_stride + x % PLANE_BYTES;
}

// Per-token scales are laid out as the cache without its inner axes.
struct ScaleGeometry {
    int64_t base;
    int64_t token_stride;
};

SALS_HD ScaleGeometry scale_geometry(const CacheShape& s, int64_t page, int64_t head) {
    if (is_token_major(s.layout)) return {page * s.page_size * s.heads + head, s.heads};
    return {(page * s.heads + head) * s.page_size, 1};
}

}  // namespace sals
