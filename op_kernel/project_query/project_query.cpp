// SPDX-License-Identifier: Apache-2.0
// project_query.cpp - entry of the kernel that makes the indexer's int4 query from the attention query.
// Vector cores only, as many as the launch gives; no workspace, no synchronisation between cores.
#include "common/read_tiling.h"
#include "project_query/kernel.h"

extern "C" __global__ __aicore__ void sals_project_query(GM_ADDR query, GM_ADDR projection, GM_ADDR packed,
                                                         GM_ADDR query_scale, GM_ADDR workspace,
                                                         GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    REGISTER_TILING_DEFAULT(sals::ProjectQueryTiling);  // tells CANN how much room the tiling needs
    static_cast<void>(workspace);
    const auto sizes = sals::read_tiling<sals::ProjectQueryTiling>(tiling);
    const sals::project_query::Arguments args = {query, projection, packed, query_scale};
    switch (static_cast<sals::VectorDType>(sizes.dtype)) {
        case sals::VectorDType::FLOAT16:
            return sals::project_query::run<half>(sizes, args);
        case sals::VectorDType::BFLOAT16:
            return sals::project_query::run<bfloat16_t>(sizes, args);
        case sals::VectorDType::FLOAT32:
            return sals::project_query::run<float>(sizes, args);
    }
}
