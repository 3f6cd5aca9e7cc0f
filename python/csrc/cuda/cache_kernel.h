// SPDX-License-Identifier: Apache-2.0
// cache_kernel.h - project_query and write_cache. Sums are added in the order of the CPU backend, without
// contraction, so both write the same bits.
#pragma once
#include "cuda/floats.h"
#include "cuda/rows.h"
#include "sals/int4_pack.h"

namespace sals::cuda {

inline constexpr int PROJECT_THREADS = 256;  // one for each direction of the largest rank
inline constexpr int WRITE_THREADS = 256;
inline constexpr int WRITE_WARPS = WRITE_THREADS / LANES;
inline constexpr int RANK_PER_LANE = static_cast<int>(MAX_RANK) / LANES;
inline constexpr float INT4_LARGEST = 7.0F, INT4_LEAST = -8.0F;
inline constexpr float INT8_LARGEST = 127.0F, INT8_LEAST = -128.0F;

SALS_DEVICE float warp_magnitude(float x) {
    for (int mask = LANES / 2; mask > 0; mask /= 2) x = larger_magnitude(x, shuffle_xor(x, mask));
    return x;
}

// The code of x, as a whole number.
SALS_DEVICE float code(float x, float scale, float least, float largest) {
    const float ratio = divide(x, scale);
    const float below = ratio < largest ? ratio : largest;
    return nearest_whole(least > below ? least : below);
}

SALS_DEVICE uint32_t int4_code(float x, float scale) {
    if (!(scale > 0.0F)) return 0;
    return static_cast<uint32_t>(static_cast<int32_t>(code(x, scale, INT4_LEAST, INT4_LARGEST))) & 0xFU;
}

// One thread block for each token and index head: thread r has direction r.
SALS_KERNEL(PROJECT_THREADS, 2) project_query_kernel(SALS_PARAMETER ProjectQueryArguments a) {
    const int32_t in_dim = a.heads_per_index * a.head_dim;
    auto* largest = reinterpret_cast<float*>(dynamic_shared());  // of each warp
    uint32_t* codes = reinterpret_cast<uint32_t*>(largest + PROJECT_THREADS / LANES);
    auto* mean = reinterpret_cast<float*>(codes + MAX_RANK);
    const int32_t token = block_index() / a.n_idx, head = block_index() % a.n_idx;
    for (int32_t i = thread_index(); i < in_dim; i += PROJECT_THREADS) {
        const int32_t kv_head = head * a.heads_per_index + i / a.head_dim;
        const int64_t first = (static_cast<int64_t>(token) * a.n_q + kv_head * a.group) * a.head_dim;
        float sum = 0.0F;
        for (int32_t g = 0; g < a.group; ++g) {
            sum = add(sum, load_float(a.query, a.type,
                                      first + static_cast<int64_t>(g) * a.head_dim + i % a.head_dim));
        }
        mean[i] = divide(sum, static_cast<float>(a.group));
    }
    sync_block();
    const int32_t r = thread_index();
    const float* weights = a.projection + static_cast<int64_t>(head) * in_dim * a.rank;
    float latent = 0.0F;
    if (r < a.rank) {
#pragma unroll 8
        for (int32_t i = 0; i < in_dim; ++i) {
            latent = add(latent, multiply(mean[i], weights[static_cast<int64_t>(i) * a.rank + r]));
        }
    }
    const float warp_largest = warp_magnitude(fabsf(latent));
    if (lane_index() == 0) largest[warp_index()] = warp_largest;
    sync_block();
    float amax = 0.0F;
    for (int w = 0; w < PROJECT_THREADS / LANES; ++w) amax = larger_magnitude(amax, largest[w]);
    const float scale = divide(amax, INT4_LARGEST);
    codes[r] = r < a.rank ? int4_code(latent, scale) : 0;
    sync_block();
    const int32_t words = a.rank / INT4_PER_WORD;
    if (r < words) {
        uint32_t word = 0;
        for (int i = 0; i < INT4_PER_WORD; ++i) word |= codes[r * INT4_PER_WORD + i] << (4 * i);
        a.packed[static_cast<int64_t>(block_index()) * words + r] = static_cast<int32_t>(word);
    }
    if (r == 0) a.query_scale[block_index()] = multiply(scale, a.scale);
}

struct WritePlace {
    int64_t page, offset;
    SALS_DEVICE uint8_t* row(const CacheWalk& c, int32_t head) const {
        return const_cast<uint8_t*>(c.rows) + page * c.page + head * c.head + offset * c.token;
    }
    SALS_DEVICE float& scale(const CacheWalk& c, int32_t head) const {
        return const_cast<float*>(
            c.scales)[page * c.scale_page + head * c.scale_head + offset * c.scale_token];
    }
};

SALS_DEVICE int64_t byte_in_row(const CacheWalk& c, int32_t byte) {
    return static_cast<int64_t>(byte / 32) * c.plane + byte % 32;
}

// A key or a value of one head, by a warp.
SALS_DEVICE void write_kv(const WriteCacheArguments& a, const WritePlace& place, int32_t token, int32_t head,
                          const void* from, const CacheWalk& cache, const float* static_scale) {
    const int64_t first = (static_cast<int64_t>(token) * a.n_kv + head) * a.head_dim;
    float largest = 0.0F;
    for (int32_t d = lane_index(); d < a.head_dim; d += LANES) {
        largest = larger_magnitude(largest, load_float(from, a.type, first + d));
    }
    const float row_scale = divide(warp_magnitude(largest), INT8_LARGEST);
    if (static_scale == nullptr && lane_index() == 0) place.scale(cache, head) = row_scale;
    uint8_t* row = place.row(cache, head);
    for (int32_t d = lane_index(); d < a.key_row_bytes; d += LANES) {
        int32_t whole = 0;  // zeros beyond head_dim
        if (d < a.head_dim) {
            const float scale = static_scale != nullptr ? static_scale[head * a.head_dim + d] : row_scale;
            const float x = load_float(from, a.type, first + d);
            whole = scale != 0.0F ? static_cast<int32_t>(code(x, scale, INT8_LEAST, INT8_LARGEST)) : 0;
        }
        row[byte_in_row(cache, d)] = static_cast<uint8_t>(whole);
    }
}

// The int4 index key of one index head, by a warp: lane l has words l, l + 32, ..., hence eight directions
// each.
SALS_DEVICE void write_index(const WriteCacheArguments& a, const WritePlace& place, int32_t token,
                             int32_t head) {
    const int32_t in_dim = a.heads_per_index * a.head_dim;
    const int64_t first = (static_cast<int64_t>(token) * a.n_kv + head * a.heads_per_index) * a.head_dim;
    const float* weights = a.projection + static_cast<int64_t>(head) * in_dim * a.rank;
    const bool is_mine = lane_index() * INT4_PER_WORD < a.rank;
    float latent[INT4_PER_WORD] = {};
    for (int32_t i = 0; is_mine && i < in_dim; ++i) {
        const float x = load_float(a.index_key, a.type, first + i);
        const float* row = weights + static_cast<int64_t>(i) * a.rank + lane_index() * INT4_PER_WORD;
        for (int k = 0; k < INT4_PER_WORD; ++k) latent[k] = add(latent[k], multiply(x, row[k]));
    }
    float largest = 0.0F;
    for (int k = 0; k < INT4_PER_WORD; ++k) largest = larger_magnitude(largest, latent[k]);
    const float scale = divide(warp_magnitude(largest), INT4_LARGEST);
    if (lane_index() == 0) place.scale(a.index, head) = scale;
    if (!is_mine) return;
    uint32_t word = 0;
    for (int k = 0; k < INT4_PER_WORD; ++k) word |= int4_code(latent[k], scale) << (4 * k);
    *reinterpret_cast<uint32_t*>(place.row(a.index, head) + byte_in_row(a.index, lane_index() * 4)) = word;
}

// One thread block for each token. Of tokens with the same slot the last one stays, so the others write
// nothing.
SALS_KERNEL(WRITE_THREADS, 2) write_cache_kernel(SALS_PARAMETER WriteCacheArguments a) {
    auto* is_taken = reinterpret_cast<int32_t*>(dynamic_shared());
    const int32_t token = block_index();
    const int32_t slot = a.slot_mapping[token];
    if (slot < 0 || slot >= a.num_slots) return;
    if (thread_index() == 0) *is_taken = 0;
    sync_block();
    for (int32_t i = token + 1 + thread_index(); i < a.tokens; i += WRITE_THREADS) {
        if (a.slot_mapping[i] == slot) add_atomically(is_taken, 1);
    }
    sync_block();
    if (*is_taken != 0) return;
    const WritePlace place = {slot / a.page_size, slot % a.page_size};
    for (int32_t task = warp_index(); task < 2 * a.n_kv + a.n_idx; task += WRITE_WARPS) {
        if (task < a.n_kv) {
            write_kv(a, place, token, task, a.key, a.keys, a.static_key_scale);
        } else if (task < 2 * a.n_kv) {
            write_kv(a, place, token, task - a.n_kv, a.value, a.values, a.static_value_scale);
        } else {
            write_index(a, place, token, task - 2 * a.n_kv);
        }
    }
}

}  // namespace sals::cuda
