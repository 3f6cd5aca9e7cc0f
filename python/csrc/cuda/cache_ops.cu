// SPDX-License-Identifier: Apache-2.0
#include "cuda/cache_kernel.h"
#include "cuda/kernel_launch.h"

namespace sals::cuda {

int launch_project_query(const ProjectQueryArguments& a, const Device& device) {
    const int32_t blocks = a.tokens * a.n_idx;
    if (blocks == 0) return 0;
    const int64_t floats = PROJECT_THREADS / LANES + MAX_RANK + int64_t{a.heads_per_index} * a.head_dim;
    return launch(project_query_kernel, {blocks, PROJECT_THREADS, floats * int64_t{sizeof(float)}}, device,
                  a);
}

int launch_write_cache(const WriteCacheArguments& a, const Device& device) {
    if (a.tokens == 0) return 0;
    return launch(write_cache_kernel, {a.tokens, WRITE_THREADS, sizeof(int32_t)}, device, a);
}

}  // namespace sals::cuda
