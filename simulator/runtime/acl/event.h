// SPDX-License-Identifier: Apache-2.0
// event.h - a point in a stream. Recording makes a new version; a wait is for the version that was recorded
// last when the wait was called, whatever is recorded afterwards. Recorded on a stream that is being
// captured, an event is a point of the graph, and only streams of that capture may wait for it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "acl/capture.h"
#include "acl/stream.h"

namespace sals::npu {

class Event : public std::enable_shared_from_this<Event> {
public:
    void record(Stream& stream);
    Outcome make_wait(Stream& stream);
    Outcome synchronize();
    Outcome query(bool& complete);
    void reset();
    // Of the version completed last; false if there is none.
    bool completed_at(std::chrono::steady_clock::time_point& time);

private:
    void finish(uint64_t version);
    void wait_for(uint64_t version);
    Outcome check_not_captured(const char* what);
    Outcome wait_in_capture(Stream& stream);

    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t recorded_ = 0;
    uint64_t completed_ = 0;
    std::chrono::steady_clock::time_point time_;
    std::shared_ptr<Capture> capture_;  // in which it was recorded last
    Progress progress_;
};

}  // namespace sals::npu
