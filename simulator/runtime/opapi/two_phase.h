// SPDX-License-Identifier: Apache-2.0
// two_phase.h - the two phases of every aclnn operator: aclnnXGetWorkspaceSize() looks at the arguments and
// makes an executor, aclnnX() puts its work on a stream and ends the executor.
#pragma once
#include "opapi/objects.h"

namespace sals::npu {

int first_phase(aclOpExecutor made, uint64_t* workspace_bytes, aclOpExecutor** executor);
int second_phase(const char* name, void* workspace, uint64_t workspace_bytes, aclOpExecutor* executor,
                 aclrtStream stream);

}  // namespace sals::npu

#define SALS_SECOND_PHASE(name)                                                              \
    extern "C" int name(void* workspace, uint64_t workspace_bytes, aclOpExecutor* executor,  \
                        aclrtStream stream) {                                                \
        return sals::npu::second_phase(#name, workspace, workspace_bytes, executor, stream); \
    }
