// SPDX-License-Identifier: Apache-2.0
#include "npu/lost_queue.h"

#include <c10/util/Exception.h>

#include <map>
#include <mutex>

namespace sals::ops {
namespace {

std::mutex mutex;
std::map<c10::DeviceIndex, std::string> errors;  // the first one of each device

}  // namespace

void lose_queue(const c10::Device& device, const std::string& error) {
    const std::lock_guard<std::mutex> lock(mutex);
    errors.emplace(device.index(), error);
}

void check_queue(const c10::Device& device) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto error = errors.find(device.index());
    TORCH_CHECK(error == errors.end(), "sals: a launch failed in torch_npu's task queue, which runs nothing ",
                "more on ", device.str(), " in this process. Start it again. The error was: ", error->second);
}

}  // namespace sals::ops
