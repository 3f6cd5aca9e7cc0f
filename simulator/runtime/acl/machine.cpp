// SPDX-License-Identifier: Apache-2.0
#include "acl/machine.h"

#include <algorithm>
#include <utility>

#include "acl/settings.h"

namespace sals::npu {
namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

// Lives until the process ends: threads of streams and static objects of other libraries may outlast main.
const Devices& devices() {
    static const auto* made = [] {
        auto* all = new Devices;
        for (int32_t id = 0; id < settings().devices; ++id) all->push_back(std::make_unique<Device>(id));
        return all;
    }();
    return *made;
}

thread_local Device* chosen = nullptr;

}  // namespace

Device::Device(int32_t id)
    : id_(id),
      memory_(settings().memory_bytes, settings().protect),
      streams_{std::make_shared<Stream>(id, 0)} {}

Stream* Device::make_stream() {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back(std::make_shared<Stream>(id_, next_stream_++));
    return streams_.back().get();
}

bool Device::destroy_stream(Stream* stream) {
    std::shared_ptr<Stream> last;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(streams_.begin() + 1, streams_.end(),
                                    [stream](const auto& each) { return each.get() == stream; });
    if (found == streams_.end()) return false;
    last = std::move(*found);
    streams_.erase(found);
    return true;
}

std::vector<std::shared_ptr<Stream>> Device::streams() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return streams_;
}

Outcome Device::synchronize() {
    Outcome first;
    for (const auto& stream : streams()) {
        const Outcome outcome = stream->synchronize();
        if (first.ok()) first = outcome;
    }
    return first;
}

Device* device(int64_t id) {
    return id >= 0 && id < static_cast<int64_t>(devices().size()) ? devices()[static_cast<size_t>(id)].get()
                                                                  : nullptr;
}

Device* current_device() { return chosen; }
void choose_device(Device* device) { chosen = device; }

Stream* stream_of(aclrtStream stream) {
    if (stream != nullptr) return static_cast<Stream*>(stream);
    return chosen == nullptr ? nullptr : &chosen->default_stream();
}

aclError put(aclrtStream handle, Task task) {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, task.name + ": this thread has chosen no device");
    }
    stream->push(std::move(task));
    return ACL_ERROR_NONE;
}

DeviceMemory* memory_of(const void* address) {
    for (const auto& device : devices()) {
        if (device->memory().owns(address)) return &device->memory();
    }
    return nullptr;
}

}  // namespace sals::npu
