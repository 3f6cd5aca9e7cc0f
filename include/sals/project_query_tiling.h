// SPDX-License-Identifier: Apache-2.0
// project_query_tiling.h - what the host tells the kernel of project_query.
#pragma once
#include <cstdint>
#include <type_traits>

#include "sals/cache_policy.h"
#include "sals/portability.h"

namespace sals {

struct ProjectQueryTiling {
    int32_t dtype;  // VectorDType
    int32_t tokens;
    int32_t n_q;
    int32_t n_idx;
    int32_t heads_per_index;  // KV heads joined in one latent
    int32_t group;            // query heads of a KV head
    int32_t head_dim;
    int32_t rank;
    float scale;
};

static_assert(std::is_trivially_copyable_v<ProjectQueryTiling>);
static_assert(sizeof(ProjectQueryTiling) % sizeof(int32_t) == 0, "the kernel copies the tiling word by word");

}  // namespace sals
