// SPDX-License-Identifier: Apache-2.0
// launch.h - what the host gives to the CUDA kernels, and the functions that launch them. No torch, no CUDA:
// the binding (cuda_*.cpp) and the kernels (*.cu) both include it.
#pragma once
#include <cstdint>

#include "sals/kv_layout.h"
#include "sals/qsi_tiling.h"
#include "sals/sfaa_tiling.h"

namespace sals::cuda {

enum class FloatType : int32_t { FLOAT16 = 0, BFLOAT16 = 1, FLOAT32 = 2 };  // of queries, outputs, keys

// Lengths of the requests and their pages. What tensors hold is clamped as qsi_tiling.h and sfaa_tiling.h
// say.
struct Requests {
    const int32_t* seq_lens;
    const int32_t* query_lens;       // or null
    const int32_t* query_start_loc;  // TND only
    const int32_t* block_table;      // null: a request is its own page
    int32_t batch;
    int32_t s_q;  // BSND: token rows of a request
    int32_t max_visible;
    int32_t max_pages;
    int32_t num_pages;
    int32_t page_size;
};

// A cache as its kernels walk it: bytes between pages, heads, tokens and planes of 32 bytes; scales in
// floats.
struct CacheWalk {
    const uint8_t* rows;
    const float* scales;  // per token, or null
    int64_t page, head;
    int32_t token, plane;
    int64_t scale_page, scale_head;
    int32_t scale_token;
};

// All addresses of kv_layout.h are linear in page, head and token.
inline CacheWalk walk_of(const CacheShape& shape, const void* rows, const float* scales, bool is_value) {
    const RowGeometry origin = row_geometry(shape, 0, 0, is_value);
    CacheWalk walk{};
    walk.rows = static_cast<const uint8_t*>(rows) + origin.base;
    walk.scales = scales;
    walk.page = row_geometry(shape, 1, 0, is_value).base - origin.base;
    walk.head = row_geometry(shape, 0, 1, is_value).base - origin.base;
    walk.token = static_cast<int32_t>(origin.token_stride);
    walk.plane = static_cast<int32_t>(origin.plane_stride);
    walk.scale_page = scale_geometry(shape, 1, 0).base;
    walk.scale_head = scale_geometry(shape, 0, 1).base;
    walk.scale_token = static_cast<int32_t>(scale_geometry(shape, 0, 0).token_stride);
    return walk;
}

struct QsiArguments {
    QsiTiling tiling;
    Requests requests;
    CacheWalk keys;
    const int32_t* query;      // [token rows, n_idx, rank/8]
    const float* query_scale;  // [token rows, n_idx]
    float* scores;             // [rows, score_stride]
    int64_t score_stride;
    int32_t* arrivals;       // [rows], 0 before and after a launch; null for block_scores
    int32_t* block_ids;      // [rows, width]
    int32_t* selected_lens;  // [rows]; null for block_scores
    bool has_wide_rows;      // every row of 16 bytes, or several, begins at a multiple of 16 bytes
};

struct SfaaArguments {
    SfaaTiling tiling;
    Requests requests;
    CacheWalk keys, values;
    int32_t row_bytes;         // of a cached row: head_dim, or more
    const float* key_scale;    // [n_kv, head_dim] if static, else null
    const float* value_scale;  // [n_kv, head_dim] if static, else null
    const void* query;
    FloatType type;
    const int32_t* block_ids;
    const int32_t* selected_lens;
    float* parts;       // partial results, sfaa_part_floats()
    int32_t* arrivals;  // sfaa_arrivals(), 0 before and after a launch
    void* out;
    float* lse;  // or null
};

struct ProjectQueryArguments {
    const void* query;
    FloatType type;
    const float* projection;
    int32_t tokens, n_q, n_idx, heads_per_index, group, head_dim, rank;
    float scale;
    int32_t* packed;
    float* query_scale;
};

struct WriteCacheArguments {
    const void* key;
    const void* value;
    const void* index_key;
    FloatType type;
    const float* projection;
    const int32_t* slot_mapping;
    CacheWalk keys, values, index;  // rows and per-token scales are written
    int32_t key_row_bytes;
    const float* static_key_scale;    // [n_kv, head_dim], or null
    const float* static_value_scale;  // [n_kv, head_dim], or null
    int32_t tokens, n_kv, head_dim, n_idx, heads_per_index, rank, page_size;
    int64_t num_slots;
};

struct Device {
    void* stream;  // cudaStream_t
    int32_t multiprocessors;
};

int64_t sfaa_part_floats(const SfaaTiling& t);
int64_t sfaa_arrivals(const SfaaTiling& t);

// Each launches one kernel on the stream and does not wait. The result is a cudaError_t.
int launch_qsi(const QsiArguments& a, const Device& device);
int launch_block_scores(const QsiArguments& a, const Device& device);
int launch_sfaa(const SfaaArguments& a, const Device& device);
int launch_project_query(const ProjectQueryArguments& a, const Device& device);
int launch_write_cache(const WriteCacheArguments& a, const Device& device);

}  // namespace sals::cuda
