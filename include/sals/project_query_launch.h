// SPDX-License-Identifier: Apache-2.0
// project_query_launch.h - from a checked problem of project_query to the launch of its kernel. The kernel
// takes any number of vector cores and needs no workspace. Host only.
#pragma once
#include "sals/cache_launch.h"
#include "sals/cache_problem.h"
#include "sals/project_query_tiling.h"

namespace sals {

// What the kernel cannot do although the operator can.
inline Status check_on_device(const char* op, const ProjectQueryProblem& p) {
    Checker check(op);
    check_device_rank(check, p.rank);
    check.range("query tokens * n_idx", p.tokens * p.n_idx, 0, INT32_MAX);
    return check.status();
}

inline ProjectQueryTiling make_project_query_tiling(const ProjectQueryProblem& p, DType dtype, double scale) {
    ProjectQueryTiling t{};
    t.dtype = static_cast<int32_t>(vector_dtype(dtype));
    t.tokens = static_cast<int32_t>(p.tokens);
    t.n_q = static_cast<int32_t>(p.n_q);
    t.n_idx = static_cast<int32_t>(p.n_idx);
    t.heads_per_index = static_cast<int32_t>(p.heads_per_index);
    t.group = static_cast<int32_t>(p.group);
    t.head_dim = static_cast<int32_t>(p.head_dim);
    t.rank = static_cast<int32_t>(p.rank);
    t.scale = static_cast<float>(scale);
    return t;
}

}  // namespace sals
