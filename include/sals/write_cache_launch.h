// SPDX-License-Identifier: Apache-2.0
// write_cache_launch.h - from a checked problem of write_cache to the launch of its kernel. The kernel takes
// any number of vector cores and needs no workspace. Host only.
#pragma once
#include "sals/cache_launch.h"
#include "sals/cache_problem.h"
#include "sals/selection.h"
#include "sals/write_cache_tiling.h"

namespace sals {

// What the kernel cannot do although the operator can.
inline Status check_on_device(const char* op, const WriteCacheProblem& p) {
    Checker check(op);
    check_device_rank(check, p.rank);
    check.range("key tokens", p.tokens, 0, INT32_MAX);
    return check.status();
}

inline WriteCacheTiling make_write_cache_tiling(const WriteCacheProblem& p, DType dtype) {
    WriteCacheTiling t{};
    t.dtype = static_cast<int32_t>(vector_dtype(dtype));
    t.tokens = static_cast<int32_t>(p.tokens);
    t.n_kv = static_cast<int32_t>(p.n_kv);
    t.head_dim = static_cast<int32_t>(p.head_dim);
    t.n_idx = static_cast<int32_t>(p.n_idx);
    t.heads_per_index = static_cast<int32_t>(p.heads_per_index);
    t.rank = static_cast<int32_t>(p.rank);
    t.kv_layout = static_cast<int32_t>(p.kv.layout);
    t.index_layout = static_cast<int32_t>(p.index.layout);
    t.num_pages = static_cast<int32_t>(p.kv.num_pages);
    t.page_size = static_cast<int32_t>(p.kv.page_size);
    t.num_slots = static_cast<int32_t>(smaller(p.slots(), int64_t{INT32_MAX}));
    t.row_bytes = static_cast<int32_t>(p.kv.row_bytes);
    t.static_scales = p.static_scales ? 1 : 0;
    return t;
}

}  // namespace sals
