// SPDX-License-Identifier: Apache-2.0
// machine.h - the simulated devices of this process, their streams, and which device a thread has chosen.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "acl/device_memory.h"
#include "acl/stream.h"

namespace sals::npu {

class Device {
public:
    explicit Device(int32_t id);

    int32_t id() const { return id_; }
    DeviceMemory& memory() { return memory_; }
    Stream& default_stream() { return *streams_.front(); }  // that of a null stream
    Stream* make_stream();
    bool destroy_stream(Stream* stream);  // after its tasks
    Outcome synchronize();

private:
    std::vector<std::shared_ptr<Stream>> streams();

    const int32_t id_;
    DeviceMemory memory_;
    std::mutex mutex_;
    int32_t next_stream_ = 1;
    std::vector<std::shared_ptr<Stream>> streams_;  // the default stream is never destroyed
};

// Null if there is no such device.
Device* device(int64_t id);

// The device that this thread has chosen, or null. A null stream means its default stream.
Device* current_device();
void choose_device(Device* device);
Stream* stream_of(aclrtStream stream);
// Puts a task on a stream.
aclError put(aclrtStream stream, Task task);

// The memory that an address lies in, or null.
DeviceMemory* memory_of(const void* address);

}  // namespace sals::npu
