// SPDX-License-Identifier: Apache-2.0
// scheduler.h - decides what happens next: the earliest event of modelled time, or a seeded random legal
// choice.
#pragma once
#include <functional>
#include <memory>

#include "engine/launch.h"
#include "engine/pipe_queue.h"

namespace sals::sim {

class Chip;
class SimCore;

class Scheduler {
public:
    virtual ~Scheduler() = default;
    virtual void run() = 0;  // until nothing can go on
    // The head of a pipe may have become executable: an item came in, or a flag was raised.
    virtual void wake(SimCore& core, Pipe pipe) = 0;
    // The scalar unit of `core` may go on.
    virtual void wake_scalar(SimCore& core) = 0;
    // Do `effect` once everything that `pipe` has started is complete, and `cycles` have passed: a flag on
    // its way. The pipe does not wait for that. The argument of `effect` is the time.
    virtual void when_complete(SimCore& core, Pipe pipe, double cycles,
                               std::function<void(double)> effect) = 0;
    // Called by the scalar unit between two dispatches.
    virtual void between_dispatches(SimCore& core) = 0;
    // Called by the scalar unit of `core` where it may be polling: let the others catch up with its time.
    virtual void let_others_run(SimCore& core) = 0;
    // The scalar unit fetches a line of GM into its data cache.
    virtual void scalar_fetch(uint64_t address, uint32_t bytes) = 0;
    virtual void fill(LaunchResult& result) = 0;
};

std::unique_ptr<Scheduler> make_timed_scheduler(Chip& chip);
std::unique_ptr<Scheduler> make_random_scheduler(Chip& chip);

}  // namespace sals::sim
