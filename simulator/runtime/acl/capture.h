// SPDX-License-Identifier: Apache-2.0
// capture.h - a graph: what streams were given between the begin and the end of a capture, to be run again.
// A capture begins on one stream, its origin; another joins it by waiting for an event that was recorded in
// it, and must be joined again by the origin before the end. A replay runs the tasks one after the other, in
// the order of their calls, which is one of the orders that the events allow.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "acl/stream.h"

namespace sals::npu {

// How many tasks of each stream come before a point of a capture.
using Progress = std::map<const Stream*, size_t>;

class Capture : public std::enable_shared_from_this<Capture> {
public:
    explicit Capture(Stream& origin) : id_(next_id()), origin_(origin) {}

    static Outcome begin(Stream& origin);
    Outcome end(Stream& stream);  // of the origin: whatever the outcome, its streams are free again
    void add(Stream& stream, Task task);
    Progress progress(Stream& stream);
    void join(Stream& stream, const Progress& progress);
    void invalidate();

    uint32_t id() const { return id_; }
    bool is_valid();
    bool is_over();
    Outcome run() const;  // all of it; only after the end

private:
    static uint32_t next_id();
    bool has_unjoined_streams() const;

    const uint32_t id_;
    Stream& origin_;
    std::mutex mutex_;
    bool valid_ = true;
    bool over_ = false;
    std::map<Stream*, Progress> streams_;  // what each knows to come before its next task
    std::vector<Task> tasks_;
};

}  // namespace sals::npu
