// SPDX-License-Identifier: Apache-2.0
// stream.h - a stream: one worker thread that runs its tasks in order. The first task that fails stops the
// stream for good, as a kernel exception stops a device's: later tasks are dropped and every
// synchronisation reports the failure. While a stream is being captured, its tasks go into the graph instead.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "acl/error.h"

namespace sals::npu {

struct Task {
    std::string name;
    std::function<Outcome()> run;
    bool always = false;  // also on a stream that has failed: whoever waits for the task must not hang
};

class Capture;

class Stream {
public:
    Stream(int32_t device, int32_t id) : device_(device), id_(id) {}
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    int32_t device() const { return device_; }
    int32_t id() const { return id_; }

    void push(Task task);
    Outcome synchronize();
    bool idle();

    std::shared_ptr<Capture> capture();  // null: not being captured
    void set_capture(std::shared_ptr<Capture> capture);

private:
    void work();
    void run(const Task& task);

    const int32_t device_;
    const int32_t id_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    bool running_ = false;
    bool stopping_ = false;
    Outcome failure_;
    std::shared_ptr<Capture> capture_;
    std::thread worker_;  // started by the first task
};

}  // namespace sals::npu
