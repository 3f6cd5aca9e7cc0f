// SPDX-License-Identifier: Apache-2.0
#include "common/launch.h"

#include "sals/limits.h"
#include "sals/selection.h"
#include "tiling/platform/platform_ascendc.h"

namespace sals::host {

Cores cores_of(const gert::TilingContext& context) {
    const platform_ascendc::PlatformAscendC platform(context.GetPlatformInfo());
    return {smaller<int64_t>(platform.GetCoreNumAic(), MAX_CORES), platform.GetCoreNumAiv()};
}

ge::graphStatus set_launch(gert::TilingContext& context, const Launch& launch) {
    constexpr uint64_t ONLY_KEY = 0;  // one binary per variant: the kernel chooses by its tiling
    constexpr uint32_t BATCH_SCHEDULING = 1;
    const platform_ascendc::PlatformAscendC platform(context.GetPlatformInfo());
    size_t* workspace = context.GetWorkspaceSizes(1);
    if (workspace == nullptr) return refuse({"sals: the kernel binary has no workspace"});
    *workspace = platform.GetLibApiWorkSpaceSize() + static_cast<size_t>(launch.workspace_bytes);
    const bool all_set =
        context.SetBlockDim(static_cast<uint32_t>(launch.blocks)) == ge::GRAPH_SUCCESS &&
        context.SetTilingKey(ONLY_KEY) == ge::GRAPH_SUCCESS &&
        context.SetScheduleMode(launch.uses_sync_all ? BATCH_SCHEDULING : 0) == ge::GRAPH_SUCCESS;
    return all_set ? ge::GRAPH_SUCCESS : refuse({"sals: the launch parameters could not be set"});
}

}  // namespace sals::host
