// SPDX-License-Identifier: Apache-2.0
#include "acl/capture.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace sals::npu {

uint32_t Capture::next_id() {
    static std::atomic<uint32_t> last{0};
    return ++last;
}

Outcome Capture::begin(Stream& origin) {
    if (origin.capture() != nullptr) {
        return {ACL_ERROR_RT_STREAM_CAPTURED, "aclmdlRICaptureBegin: the stream is being captured already"};
    }
    std::make_shared<Capture>(origin)->join(origin, {});
    return {};
}

Outcome Capture::end(Stream& stream) {
    const std::shared_ptr<Capture> self = shared_from_this();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (&stream != &origin_) {
        return {ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED,
                "aclmdlRICaptureEnd: the capture must end on the stream on which it began"};
    }
    const bool unjoined = has_unjoined_streams();
    for (const auto& [each, progress] : streams_) each->set_capture(nullptr);
    over_ = true;
    if (!valid_) {
        return {ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED,
                "aclmdlRICaptureEnd: the capture was ended by an earlier error, such as a synchronisation"};
    }
    if (!unjoined) return {};
    valid_ = false;
    return {ACL_ERROR_RT_STREAM_UNJOINED,
            "aclmdlRICaptureEnd: a stream that took part was not joined: the stream of the capture must "
            "wait for an event recorded after the last task of each other stream"};
}

bool Capture::has_unjoined_streams() const {
    const Progress& known = streams_.at(&origin_);
    return std::any_of(streams_.begin(), streams_.end(), [&](const auto& entry) {
        const auto& [stream, progress] = entry;
        const auto own = progress.find(stream);
        const auto seen = known.find(stream);
        return own != progress.end() && (seen == known.end() || seen->second < own->second);
    });
}

void Capture::add(Stream& stream, Task task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++streams_[&stream][&stream];
    tasks_.push_back(std::move(task));
}

Progress Capture::progress(Stream& stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return streams_[&stream];
}

void Capture::join(Stream& stream, const Progress& progress) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Progress& known = streams_[&stream];
    for (const auto& [other, count] : progress) known[other] = std::max(known[other], count);
    stream.set_capture(shared_from_this());
}

void Capture::invalidate() {
    const std::lock_guard<std::mutex> lock(mutex_);
    valid_ = false;
}

bool Capture::is_valid() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return valid_;
}

bool Capture::is_over() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return over_;
}

Outcome Capture::run() const {
    for (const Task& task : tasks_) {
        Outcome outcome = task.run();
        if (!outcome.ok()) return outcome;
    }
    return {};
}

}  // namespace sals::npu
