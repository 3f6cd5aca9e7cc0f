// SPDX-License-Identifier: Apache-2.0
// sfaa_launch.h - from a checked attention problem to the launch of the kernel. Host only.
#pragma once
#include <string>

#include "sals/sfaa_policy.h"
#include "sals/sfaa_problem.h"
#include "sals/sfaa_tiling.h"

namespace sals {

// What the kernel cannot do although the operator can. Strides of the gather are 16-bit counts of words.
inline Status check_on_device(const char* op, const SfaaProblem& p, DType dtype) {
    constexpr int64_t WORD = sizeof(int32_t);
    const int64_t row_words = p.head_dim / WORD;
    Checker check(op);
    check.require(
        dtype == DType::FLOAT16 || dtype == DType::BFLOAT16,
        std::string("query must have dtype float16 or bfloat16 on an NPU, got ") + dtype_name(dtype));
    check.require(is_device_head_dim(p.head_dim),
                  "query must have head_dim 64, 128 or 256 on an NPU (pad with zeros), got " +
                      std::to_string(p.head_dim));
    check.require(p.cache.row_bytes == p.head_dim,
                  "key_cache must have rows of head_dim = " + std::to_string(p.head_dim) +
                      " on an NPU, got " + std::to_string(p.cache.row_bytes));
    check.require(p.width * p.block_size <= INT32_MAX,
                  "block_ids must have width * block_size < 2^31 on an NPU, got " + std::to_string(p.width) +
                      " * " + std::to_string(p.block_size));
    const int64_t row_stride = is_token_major(p.cache.layout) ? p.n_kv * row_words : 0;
    check.require(row_stride <= UINT16_MAX,
                  "key_cache must have n_kv * head_dim/4 <= 65535 in layout PA_BSND or BSND on an NPU, got " +
                      std::to_string(row_stride));
    const int64_t plane_stride = has_planes(p.cache.layout) ? p.cache.page_size * (PLANE_BYTES / WORD) : 0;
    check.require(plane_stride <= UINT16_MAX,
                  "key_cache must have page_size <= 8191 in layout PA_NZ or PA_KV on an NPU, got " +
                      std::to_string(p.cache.page_size));
    const int64_t twin_stride = p.cache.layout == KvLayout::PA_KV ? p.cache.page_size * row_words : 0;
    check.require(twin_stride <= UINT16_MAX,
                  "key_cache must have page_size * head_dim/4 <= 65535 in layout PA_KV on an NPU, got " +
                      std::to_string(twin_stride));
    return check.status();
}

struct SfaaLaunch {
    DType dtype = DType::OTHER;
    double scale = 0.0;
    bool causal = true;
    bool return_lse = false;
    int64_t num_cores = 0;
    SfaaGather gather{};
    bool preloads = true;
};

inline SfaaTiling make_sfaa_tiling(const SfaaProblem& p, const SfaaLaunch& launch) {
    const int64_t table_tokens = (is_paged(p.cache.layout) ? p.max_pages : 1) * p.cache.page_size;
    const int64_t capacity = p.cache.num_pages > 0 ? table_tokens : 0;
    SfaaTiling t{};
    t.query_layout = static_cast<int32_t>(p.axis.layout);
    t.dtype =
        static_cast<int32_t>(launch.dtype == DType::BFLOAT16 ? SfaaDType::BFLOAT16 : SfaaDType::FLOAT16);
    t.batch = static_cast<int32_t>(p.axis.batch);
    t.s_q = static_cast<int32_t>(p.axis.s_q);
    t.tokens = static_cast<int32_t>(p.axis.tokens);
    t.n_kv = static_cast<int32_t>(p.n_kv);
    t.group = static_cast<int32_t>(p.group);
    t.head_dim = static_cast<int32_t>(p.head_dim);
    t.is_shared = p.shared_list() ? 1 : 0;
    t.list_heads = static_cast<int32_t>(p.list_heads);
    t.width = static_cast<int32_t>(p.width);
    t.block_size = static_cast<int32_t>(p.block_size);
    t.is_causal = launch.causal ? 1 : 0;
    t.cache_layout = static_cast<int32_t>(p.cache.layout);
    t.num_pages = static_cast<int32_t>(p.cache.num_pages);
    t.page_size = static_cast<int32_t>(p.cache.page_size);
    t.max_pages = static_cast<int32_t>(p.max_pages);
    t.max_visible = static_cast<int32_t>(smaller(capacity, MAX_SEQ_LEN));
    t.static_scales = p.static_scales ? 1 : 0;
    t.scale = static_cast<float>(launch.scale);
    t.returns_lse = launch.return_lse ? 1 : 0;
    t.joins_runs = launch.gather.joins_runs ? 1 : 0;
    t.joins_pairs = launch.gather.joins_pairs ? 1 : 0;
    t.touched_percent = launch.gather.touched_percent;
    t.preloads = launch.preloads ? 1 : 0;
    t.num_cores = static_cast<int32_t>(launch.num_cores);
    t.uses_sync_all = 1;
    return t;
}

}  // namespace sals
