// SPDX-License-Identifier: Apache-2.0
// error.h - an error code, and the sentence that aclGetRecentErrMsg() returns for it.
#pragma once
#include <string>

#include "acl/acl.h"

namespace sals::npu {

struct Outcome {
    aclError code = ACL_ERROR_NONE;
    std::string text;
    std::string host_function =
        {};  // of an operator of ours: what tiled its kernel, or the AI CPU kernel itself
    bool ok() const { return code == ACL_ERROR_NONE; }
};

// Keeps the sentence for this thread and returns the code.
aclError fail(aclError code, const std::string& text);
inline aclError report(const Outcome& outcome) {
    return outcome.ok() ? ACL_ERROR_NONE : fail(outcome.code, outcome.text);
}

}  // namespace sals::npu
