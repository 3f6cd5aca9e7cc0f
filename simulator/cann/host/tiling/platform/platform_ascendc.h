// SPDX-License-Identifier: Apache-2.0
// platform_ascendc.h - stands in for CANN's header: what a chip has.
#pragma once
#include "register/op_def_registry.h"

namespace platform_ascendc {

class PlatformAscendC {
public:
    explicit PlatformAscendC(fe::PlatFormInfos* info) : info_(info) {}
    uint32_t GetCoreNumAic() const { return info_->cube_cores; }
    uint32_t GetCoreNumAiv() const { return info_->vector_cores; }
    uint32_t GetLibApiWorkSpaceSize() const { return info_->library_workspace; }

private:
    fe::PlatFormInfos* info_;
};

}  // namespace platform_ascendc
