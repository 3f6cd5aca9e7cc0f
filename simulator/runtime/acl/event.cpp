// SPDX-License-Identifier: Apache-2.0
#include "acl/event.h"

#include <algorithm>
#include <string>

namespace sals::npu {

void Event::record(Stream& stream) {
    const std::shared_ptr<Capture> capture = stream.capture();
    std::unique_lock<std::mutex> lock(mutex_);
    capture_ = capture;
    if (capture != nullptr) {
        progress_ = capture->progress(stream);
        return;
    }
    const uint64_t version = ++recorded_;
    lock.unlock();
    stream.push({"record event",
                 [self = shared_from_this(), version] {
                     self->finish(version);
                     return Outcome{};
                 },
                 true});
}

Outcome Event::make_wait(Stream& stream) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (capture_ != nullptr || stream.capture() != nullptr) return wait_in_capture(stream);
    const uint64_t version = recorded_;
    lock.unlock();
    stream.push({"wait event",
                 [self = shared_from_this(), version] {
                     self->wait_for(version);
                     return Outcome{};
                 },
                 true});
    return {};
}

Outcome Event::wait_in_capture(Stream& stream) {
    const std::shared_ptr<Capture> of_stream = stream.capture();
    if (capture_ == nullptr) {
        if (recorded_ == 0) return {};
        of_stream->invalidate();
        return {ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                "aclrtStreamWaitEvent: a stream that is being captured must not wait for an event that was "
                "recorded outside the capture"};
    }
    if (capture_->is_over() || (of_stream != nullptr && of_stream != capture_)) {
        return {ACL_ERROR_RT_EVENT_CAPTURED,
                "aclrtStreamWaitEvent: the event was recorded in another capture"};
    }
    capture_->join(stream, progress_);
    return {};
}

Outcome Event::check_not_captured(const char* what) {
    if (capture_ == nullptr) return {};
    if (!capture_->is_over()) capture_->invalidate();
    return {ACL_ERROR_RT_EVENT_CAPTURED,
            std::string(what) + ": the event was recorded in a capture, so it never completes"};
}

Outcome Event::synchronize() {
    std::unique_lock<std::mutex> lock(mutex_);
    const Outcome outcome = check_not_captured("aclrtSynchronizeEvent");
    const uint64_t version = recorded_;
    lock.unlock();
    if (outcome.ok()) wait_for(version);
    return outcome;
}

Outcome Event::query(bool& complete) {
    const std::lock_guard<std::mutex> lock(mutex_);
    complete = completed_ >= recorded_;
    return check_not_captured("aclrtQueryEventStatus");
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

}  // namespace sals::npu
