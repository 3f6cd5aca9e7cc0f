// SPDX-License-Identifier: Apache-2.0
// launch.h - what a tiling function leaves to the launch of its kernel.
#pragma once
#include <cstring>

#include "common/report.h"
#include "register/op_def_registry.h"

namespace sals::host {

struct Cores {
    int64_t cube = 0;
    int64_t vector = 0;
};

Cores cores_of(const gert::TilingContext& context);

struct Launch {
    int64_t blocks = 0;
    int64_t workspace_bytes = 0;
    bool uses_sync_all = false;  // then all blocks must start together: batch scheduling
};

// Sets all but the tiling itself.
ge::graphStatus set_launch(gert::TilingContext& context, const Launch& launch);

template <class Tiling>
ge::graphStatus finish(gert::TilingContext& context, const Tiling& tiling, const Launch& launch) {
    gert::TilingData* data = context.GetRawTilingData();
    if (data == nullptr || data->GetCapacity() < sizeof(Tiling)) {
        return refuse({"sals: the kernel binary was built for another tiling; build the package again"});
    }
    std::memcpy(data->GetData(), &tiling, sizeof(Tiling));
    data->SetDataSize(sizeof(Tiling));
    return set_launch(context, launch);
}

}  // namespace sals::host
