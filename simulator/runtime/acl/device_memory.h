// SPDX-License-Identifier: Apache-2.0
// device_memory.h - the memory of one simulated device. It is mapped twice: at the addresses that programs
// see, where a host access crashes if the device is protected, and in a window through which only copies,
// operators and kernels of this runtime reach it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace sals::npu {

class DeviceMemory {
public:
    DeviceMemory(size_t bytes, bool protect);  // throws std::system_error
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    void* allocate(size_t bytes);  // null if there is no room; filled with POISON
    bool free(void* address);      // false if nothing begins there
    bool owns(const void* address) const;
    uint8_t* window(const void* address) const;  // of an address that it owns
    // Bytes of the allocation from this address on; 0 outside every allocation.
    size_t bytes_from(const void* address) const;
    size_t total_bytes() const { return bytes_; }
    size_t free_bytes() const;

    static constexpr uint8_t POISON = 0xCD;

private:
    size_t offset_of(const void* address) const;

    size_t bytes_;
    uint8_t* visible_;
    uint8_t* window_;
    mutable std::mutex mutex_;
    std::map<size_t, size_t> used_;  // offset -> bytes
};

}  // namespace sals::npu
