// SPDX-License-Identifier: Apache-2.0
#include "acl/faults.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "acl/machine.h"

namespace sals::npu {
namespace {

class Countdown {
public:
    void start(int64_t n) { left_ = n; }
    bool is_now() {
        int64_t left = left_;
        while (left > 0) {
            if (left_.compare_exchange_weak(left, left - 1)) return left == 1;
        }
        return false;
    }

private:
    std::atomic<int64_t> left_{0};
};

Countdown allocation, launch, refusal, other_tiling;

class Gate {
public:
    void close() {
        const std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
    }
    void open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        closed_ = false;
        changed_.notify_all();
    }
    void pass() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !closed_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
};

Gate gate;

}  // namespace

bool is_failing_allocation() { return allocation.is_now(); }
bool is_failing_launch() { return launch.is_now(); }
bool is_refused_launch() { return refusal.is_now(); }
bool is_other_tiling() { return other_tiling.is_now(); }

}  // namespace sals::npu

void sals_npu_fail_allocation(int64_t n) { sals::npu::allocation.start(n); }
void sals_npu_fail_launch(int64_t n) { sals::npu::launch.start(n); }
void sals_npu_refuse_launch(int64_t n) { sals::npu::refusal.start(n); }
void sals_npu_other_tiling(int64_t n) { sals::npu::other_tiling.start(n); }

void sals_npu_hold(aclrtStream stream) {
    using namespace sals::npu;
    gate.close();
    put(stream, {"hold",
                 [] {
                     gate.pass();
                     return Outcome{};
                 },
                 true});
}

void sals_npu_release() { sals::npu::gate.open(); }
