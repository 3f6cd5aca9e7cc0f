// SPDX-License-Identifier: Apache-2.0
// api_device.cpp - ACL: initialisation, devices and contexts. A device has one context.
#include <string>

#include "acl/acl.h"
#include "acl/machine.h"
#include "acl/settings.h"

using namespace sals::npu;

namespace {

// An ordinary 910B of the 20-core kind; the number of cores itself is a setting.
constexpr const char* SOC_NAME = "Ascend910B3";
constexpr int64_t VECTOR_CORES_PER_CORE = 2;
constexpr int64_t L2_BYTES = int64_t{192} << 20;
constexpr int64_t AI_CPUS = 4;

aclError no_device(const char* function, int64_t id) {
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, std::string(function) + ": there is no device " +
                                                   std::to_string(id) + " (SALS_NPU_DEVICES is " +
                                                   std::to_string(settings().devices) + ")");
}

}  // namespace

aclError aclInit(const char*) { return ACL_ERROR_NONE; }
aclError aclFinalize() { return ACL_ERROR_NONE; }

const char* aclrtGetSocName() { return SOC_NAME; }

aclError aclrtGetDeviceCount(uint32_t* count) {
    *count = static_cast<uint32_t>(settings().devices);
    return ACL_ERROR_NONE;
}

aclError aclrtSetDevice(int32_t id) {
    Device* chosen = device(id);
    if (chosen == nullptr) return no_device("aclrtSetDevice", id);
    choose_device(chosen);
    return ACL_ERROR_NONE;
}

aclError aclrtGetDevice(int32_t* id) {
    const Device* chosen = current_device();
    if (chosen == nullptr) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtGetDevice: this thread has chosen no device");
    }
    *id = chosen->id();
    return ACL_ERROR_NONE;
}

aclError aclrtResetDevice(int32_t id) {
    Device* reset = device(id);
    if (reset == nullptr) return no_device("aclrtResetDevice", id);
    reset->synchronize();
    return ACL_ERROR_NONE;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
    *context = current_device();
    if (*context != nullptr) return ACL_ERROR_NONE;
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtGetCurrentContext: this thread has chosen no device");
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    choose_device(static_cast<Device*>(context));
    return ACL_ERROR_NONE;
}

aclError aclrtGetPrimaryCtxState(int32_t id, uint32_t* flags, int32_t* active) {
    if (device(id) == nullptr) return no_device("aclrtGetPrimaryCtxState", id);
    if (flags != nullptr) *flags = 0;
    *active = 1;
    return ACL_ERROR_NONE;
}

aclError aclrtSynchronizeDevice() {
    Device* chosen = current_device();
    if (chosen == nullptr) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtSynchronizeDevice: this thread has chosen no device");
    }
    return report(chosen->synchronize());
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t) { return aclrtSynchronizeDevice(); }

aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t id, int32_t peer) {
    *can = device(id) != nullptr && device(peer) != nullptr ? 1 : 0;
    return ACL_ERROR_NONE;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t) {
    return device(peer) != nullptr ? ACL_ERROR_NONE : no_device("aclrtDeviceEnablePeerAccess", peer);
}

aclError aclGetDeviceCapability(uint32_t id, aclDeviceInfo what, int64_t* value) {
    if (device(id) == nullptr) return no_device("aclGetDeviceCapability", id);
    switch (what) {
        case ACL_DEVICE_INFO_AI_CORE_NUM:
            *value = settings().cores;
            return ACL_ERROR_NONE;
        case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
            *value = settings().cores * VECTOR_CORES_PER_CORE;
            return ACL_ERROR_NONE;
        case ACL_DEVICE_INFO_L2_SIZE:
            *value = L2_BYTES;
            return ACL_ERROR_NONE;
        default:
            return fail(ACL_ERROR_INVALID_PARAM,
                        "aclGetDeviceCapability: value " + std::to_string(what) + " is not simulated");
    }
}

aclError aclrtGetDeviceInfo(uint32_t id, aclrtDevAttr what, int64_t* value) {
    if (device(id) == nullptr) return no_device("aclrtGetDeviceInfo", id);
    switch (what) {
        case ACL_DEV_ATTR_AICPU_CORE_NUM:
            *value = AI_CPUS;
            return ACL_ERROR_NONE;
        case ACL_DEV_ATTR_AICORE_CORE_NUM:
        case ACL_DEV_ATTR_CUBE_CORE_NUM:
            *value = settings().cores;
            return ACL_ERROR_NONE;
        case ACL_DEV_ATTR_VECTOR_CORE_NUM:
            *value = settings().cores * VECTOR_CORES_PER_CORE;
            return ACL_ERROR_NONE;
        default:
            return fail(ACL_ERROR_INVALID_PARAM,
                        "aclrtGetDeviceInfo: attribute " + std::to_string(what) + " is not simulated");
    }
}
