// SPDX-License-Identifier: Apache-2.0
#include "acl/stream.h"

#include <exception>
#include <utility>

#include "acl/capture.h"
#include "acl/trace.h"

namespace sals::npu {

Stream::~Stream() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
}

void Stream::push(Task task) {
    if (const std::shared_ptr<Capture> graph = capture()) return graph->add(*this, std::move(task));
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
    changed_.notify_all();
}

Outcome Stream::synchronize() {
    if (const std::shared_ptr<Capture> graph = capture()) {
        graph->invalidate();
        return {ACL_ERROR_RT_STREAM_CAPTURED, "a stream that is being captured must not be synchronised"};
    }
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !running_; });
    return failure_;
}

bool Stream::idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return tasks_.empty() && !running_;
}

std::shared_ptr<Capture> Stream::capture() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return capture_;
}

void Stream::set_capture(std::shared_ptr<Capture> capture) {
    const std::lock_guard<std::mutex> lock(mutex_);
    capture_ = std::move(capture);
}

void Stream::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        const Task task = std::move(tasks_.front());
        tasks_.pop_front();
        running_ = true;
        const bool dropped = !failure_.ok() && !task.always;
        lock.unlock();
        if (!dropped) run(task);
        lock.lock();
        running_ = false;
        changed_.notify_all();
    }
}

void Stream::run(const Task& task) {
    Outcome outcome;
    try {
        outcome = task.run();
    } catch (const std::exception& error) {
        outcome = {ACL_ERROR_RT_INTERNAL_ERROR, task.name + ": " + error.what()};
    }
    trace(device_, id_, task.name, outcome);
    if (outcome.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_.ok()) failure_ = std::move(outcome);
}

}  // namespace sals::npu
