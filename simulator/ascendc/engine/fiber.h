// SPDX-License-Identifier: Apache-2.0
// fiber.h - a function with a stack of its own that can stop in the middle and go on later: the scalar unit.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace sals::sim {

class Fiber {
public:
    explicit Fiber(std::function<void()> body);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    void resume();  // run the body until it pauses or ends; throws if it threw; call from outside
    void pause();   // go back to resume(); call from inside
    bool finished() const { return finished_; }

    // From the handler of a fault at `address`: if it lies below the stack of the fiber that runs on this
    // thread, the fiber ends and its resume() throws; then this does not return.
    static void leave_if_overflown(const void* address);

private:
    static void entry(unsigned low, unsigned high);
    void run();

    std::function<void()> body_;
    void* stack_;
    ucontext_t inside_{}, outside_{};
    bool finished_ = false;
    bool overflown_ = false;
    std::exception_ptr error_;
    // What AddressSanitizer wants to know about a change of stacks.
    [[maybe_unused]] void* fake_stack_inside_ = nullptr;
    [[maybe_unused]] void* fake_stack_outside_ = nullptr;
    [[maybe_unused]] const void* outside_bottom_ = nullptr;
    [[maybe_unused]] size_t outside_size_ = 0;
};

}  // namespace sals::sim
