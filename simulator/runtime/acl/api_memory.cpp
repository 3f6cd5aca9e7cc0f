// SPDX-License-Identifier: Apache-2.0
// api_memory.cpp - ACL: device memory, pinned host memory, copies and fills.
#include <cstdlib>
#include <cstring>
#include <string>

#include "acl/acl.h"
#include "acl/faults.h"
#include "acl/machine.h"
#include "acl/runtime.h"

using namespace sals::npu;

namespace {

constexpr size_t HOST_ALIGNMENT = 64;

std::string bytes_text(size_t bytes) { return std::to_string(bytes) + " bytes"; }

// An end of a copy: pinned or pageable host memory, or all of it in one device allocation.
Outcome check_end(const char* function, const char* end, const void* address, size_t bytes, bool on_device) {
    const DeviceMemory* memory = memory_of(address);
    if ((memory != nullptr) != on_device) {
        return {ACL_ERROR_RT_INVALID_MEMORY_TYPE, std::string(function) + ": " + end + " must be in " +
                                                      (on_device ? "device" : "host") + " memory"};
    }
    if (memory == nullptr || memory->bytes_from(address) >= bytes) return {};
    return {ACL_ERROR_RT_PARAM_INVALID, std::string(function) + ": " + end + " must have " +
                                            bytes_text(bytes) + " in one allocation, got " +
                                            bytes_text(memory->bytes_from(address))};
}

bool is_to_device(aclrtMemcpyKind kind) {
    return kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
}
bool is_from_device(aclrtMemcpyKind kind) {
    return kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
}

Outcome check_copy(const char* function, void* to, size_t room, const void* from, size_t bytes,
                   aclrtMemcpyKind kind) {
    if (bytes > room) {
        return {ACL_ERROR_RT_PARAM_INVALID, std::string(function) + ": the target must have room for " +
                                                bytes_text(bytes) + ", got " + bytes_text(room)};
    }
    if (kind > ACL_MEMCPY_DEVICE_TO_DEVICE) {
        return {ACL_ERROR_RT_PARAM_INVALID,
                std::string(function) + ": copies of kind " + std::to_string(kind) + " are not simulated"};
    }
    const Outcome target = check_end(function, "the target", to, bytes, is_to_device(kind));
    return target.ok() ? check_end(function, "the source", from, bytes, is_from_device(kind)) : target;
}

}  // namespace

aclError aclrtMalloc(void** address, size_t bytes, aclrtMemMallocPolicy) {
    Device* chosen = current_device();
    if (chosen == nullptr) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtMalloc: this thread has chosen no device");
    }
    *address = is_failing_allocation() ? nullptr : chosen->memory().allocate(bytes);
    if (*address != nullptr) return ACL_ERROR_NONE;
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMalloc: no room for " + bytes_text(bytes) +
                                                    " on device " + std::to_string(chosen->id()));
}

aclError aclrtMallocAlign32(void** address, size_t bytes, aclrtMemMallocPolicy policy) {
    return aclrtMalloc(address, bytes, policy);
}

aclError aclrtFree(void* address) {
    DeviceMemory* memory = memory_of(address);
    if (memory != nullptr && memory->free(address)) return ACL_ERROR_NONE;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFree: no allocation begins at this address");
}

aclError aclrtMallocHost(void** address, size_t bytes) {
    *address =
        std::aligned_alloc(HOST_ALIGNMENT, (bytes + HOST_ALIGNMENT - 1) / HOST_ALIGNMENT * HOST_ALIGNMENT);
    if (*address != nullptr) return ACL_ERROR_NONE;
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMallocHost: no room for " + bytes_text(bytes));
}

aclError aclrtMallocHostWithCfg(void** address, uint64_t bytes, aclrtMallocConfig*) {
    return aclrtMallocHost(address, bytes);
}

aclError aclrtFreeHost(void* address) {
    std::free(address);
    return ACL_ERROR_NONE;
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
    Device* chosen = current_device();
    if (chosen == nullptr) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtGetMemInfo: this thread has chosen no device");
    }
    *free = chosen->memory().free_bytes();
    *total = chosen->memory().total_bytes();
    return ACL_ERROR_NONE;
}

aclError aclrtPointerGetAttributes(const void* address, aclrtPtrAttributes* attributes) {
    *attributes = {};
    for (int32_t id = 0; device(id) != nullptr; ++id) {
        if (!device(id)->memory().owns(address)) continue;
        attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        attributes->location.id = static_cast<uint32_t>(id);
        return ACL_ERROR_NONE;
    }
    attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
    return ACL_ERROR_NONE;
}

aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind kind) {
    const Outcome outcome = check_copy("aclrtMemcpy", to, room, from, bytes, kind);
    if (outcome.ok()) std::memcpy(window(to), window(from), bytes);
    return report(outcome);
}

aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t bytes, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    const Outcome outcome = check_copy("aclrtMemcpyAsync", to, room, from, bytes, kind);
    if (!outcome.ok()) return report(outcome);
    return put(stream, {"copy", [=] {
                            std::memcpy(window(to), window(from), bytes);
                            return Outcome{};
                        }});
}

aclError aclrtMemset(void* address, size_t room, int32_t value, size_t bytes) {
    const bool fits = bytes <= room && is_allocated(address, bytes);
    if (!fits) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemset: the target is too small");
    std::memset(window(address), value, bytes);
    return ACL_ERROR_NONE;
}

aclError aclrtMemsetAsync(void* address, size_t room, int32_t value, size_t bytes, aclrtStream stream) {
    const bool fits = bytes <= room && is_allocated(address, bytes);
    if (!fits) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemsetAsync: the target is too small");
    return put(stream, {"fill", [=] {
                            std::memset(window(address), value, bytes);
                            return Outcome{};
                        }});
}
