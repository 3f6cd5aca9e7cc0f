// SPDX-License-Identifier: Apache-2.0
// api_options.cpp - ACL: versions and options that change nothing here: no operator of this runtime has a
// faster form that is not deterministic, a mode of overflow, or a time limit.
#include <cstdio>

#include "acl/acl.h"

namespace {

constexpr const char* CANN_VERSION = "8.5.0";

}  // namespace

aclError aclsysGetCANNVersion(aclCANNPackageName, aclCANNPackageVersion* version) {
    *version = {};
    std::snprintf(version->version, sizeof(version->version), "%s", CANN_VERSION);
    return ACL_ERROR_NONE;
}

aclError aclsysGetVersionStr(char*, char* version) {
    std::snprintf(version, ACL_PKG_VERSION_MAX_SIZE, "%s", CANN_VERSION);
    return ACL_ERROR_NONE;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt, int64_t* value) {
    *value = 0;
    return ACL_ERROR_NONE;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt, int64_t) { return ACL_ERROR_NONE; }
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt, int64_t) { return ACL_ERROR_NONE; }
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode) { return ACL_ERROR_NONE; }
aclError aclrtSetOpExecuteTimeOut(uint32_t) { return ACL_ERROR_NONE; }
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return ACL_ERROR_NONE; }
aclError aclrtSetStreamOverflowSwitch(aclrtStream, uint32_t) { return ACL_ERROR_NONE; }
aclError aclrtSetStreamAttribute(aclrtStream, aclrtStreamAttr, aclrtStreamAttrValue*) {
    return ACL_ERROR_NONE;
}

void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char*, ...) {}
