// SPDX-License-Identifier: Apache-2.0
// operator_library.h - where the operators' aclnn functions come from: libcust_opapi.so of the package
// itself, or of an operator package that ASCEND_CUSTOM_OPP_PATH names. torch_npu reads that variable while
// it is loaded, often before `import sals`; so the library is found by its own path, on first use.
#pragma once
#include <string>

namespace sals::ops {

// The functions of the two phases of `aclnn<type>`; raises RuntimeError if no library has them.
struct AclnnFunctions {
    void* get_workspace_size;
    void* run;
};
AclnnFunctions find_aclnn(const std::string& type);

}  // namespace sals::ops
