// SPDX-License-Identifier: Apache-2.0
#include "acl/event.h"

#include <algorithm>

namespace sals::npu {

void Event::record(Stream& stream) {
    uint64_t version = 0;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        version = ++recorded_;
    }
    stream.push({"record event",
                 [self = shared_from_this(), version] {
                     self->finish(version);
                     return Outcome{};
                 },
                 true});
}

void Event::make_wait(Stream& stream) {
    stream.push({"wait event",
                 [self = shared_from_this(), version = recorded()] {
                     self->wait_for(version);
                     return Outcome{};
                 },
                 true});
}

void Event::synchronize() { wait_for(recorded()); }

bool Event::complete() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return completed_ >= recorded_;
}

void Event::reset() {
    const std::lock_guard<std::mutex> lock(mutex_);
    completed_ = recorded_;
}

bool Event::completed_at(std::chrono::steady_clock::time_point& time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    time = time_;
    return completed_ > 0 && completed_ >= recorded_;
}

void Event::finish(uint64_t version) {
    const std::lock_guard<std::mutex> lock(mutex_);
    completed_ = std::max(completed_, version);
    time_ = std::chrono::steady_clock::now();
    changed_.notify_all();
}

void Event::wait_for(uint64_t version) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return completed_ >= version; });
}

uint64_t Event::recorded() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return recorded_;
}

}  // namespace sals::npu
