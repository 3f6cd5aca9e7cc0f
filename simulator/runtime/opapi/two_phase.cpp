// SPDX-License-Identifier: Apache-2.0
#include "opapi/two_phase.h"

#include <memory>
#include <utility>

#include "acl/runtime.h"

namespace sals::npu {

int first_phase(aclOpExecutor made, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    *workspace_bytes = made.workspace_bytes;
    *executor = new aclOpExecutor(std::move(made));
    return ACL_ERROR_NONE;
}

int second_phase(const char* name, void* workspace, uint64_t workspace_bytes, aclOpExecutor* executor,
                 aclrtStream stream) {
    if (executor == nullptr) {
        return fail(ACL_ERROR_INVALID_PARAM, std::string(name) + ": executor must not be null");
    }
    const std::shared_ptr<const aclOpExecutor> kept(executor);
    const uint64_t needed = kept->workspace_bytes;
    if (workspace_bytes < needed || (needed > 0 && !is_allocated(workspace, needed))) {
        return fail(ACL_ERROR_INVALID_PARAM, std::string(name) + ": workspace must have " +
                                                 std::to_string(needed) + " bytes of device memory");
    }
    uint8_t* memory = needed > 0 ? window(workspace) : nullptr;
    return launch(stream, {kept->name, [kept, memory] { return kept->run(memory); }});
}

}  // namespace sals::npu
