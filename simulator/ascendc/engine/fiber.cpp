// SPDX-License-Identifier: Apache-2.0
// fiber.cpp - fibers on ucontext, with a guard page below each stack.
#include "engine/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define SALS_START_SWITCH(save, bottom, size) __sanitizer_start_switch_fiber(save, bottom, size)
#define SALS_FINISH_SWITCH(save, bottom, size) __sanitizer_finish_switch_fiber(save, bottom, size)
#else
#define SALS_START_SWITCH(save, bottom, size) ((void)0)
#define SALS_FINISH_SWITCH(save, bottom, size) ((void)0)
#endif

namespace sals::sim {

static constexpr size_t GUARD_BYTES = 16 * 1024 * 1024;  // of addresses: local arrays may jump far
static constexpr size_t STACK_BYTES = 512 * 1024;

static thread_local Fiber* running = nullptr;

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
    stack_ = mmap(nullptr, GUARD_BYTES + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (stack_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(static_cast<char*>(stack_) + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE);
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = static_cast<char*>(stack_) + GUARD_BYTES;
    inside_.uc_stack.ss_size = STACK_BYTES;
    inside_.uc_link = nullptr;
    const auto self = reinterpret_cast<uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::entry), 2, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32));
}

// A fiber that never finished (deadlock) is abandoned: its stack goes, its objects are not destroyed.
Fiber::~Fiber() { munmap(stack_, GUARD_BYTES + STACK_BYTES); }

void Fiber::entry(unsigned low, unsigned high) {
    reinterpret_cast<Fiber*>(uintptr_t{low} | uintptr_t{high} << 32)->run();
}

void Fiber::run() {
    SALS_FINISH_SWITCH(fake_stack_inside_, &outside_bottom_, &outside_size_);
    try {
        body_();
    } catch (const std::exception& error) {
        // Only the text: the type is the kernel's, whose library may be gone when somebody catches this.
        error_ =
            std::make_exception_ptr(std::runtime_error(std::string("the kernel threw: ") + error.what()));
    } catch (...) {
        error_ = std::make_exception_ptr(std::runtime_error("the kernel threw something unknown"));
    }
    finished_ = true;
    SALS_START_SWITCH(nullptr, outside_bottom_, outside_size_);
    setcontext(&outside_);
}

void Fiber::resume() {
    Fiber* const before = running;
    running = this;
    SALS_START_SWITCH(&fake_stack_outside_, inside_.uc_stack.ss_sp, inside_.uc_stack.ss_size);
    swapcontext(&outside_, &inside_);
    SALS_FINISH_SWITCH(fake_stack_outside_, nullptr, nullptr);
    running = before;
    if (overflown_) {
        throw std::runtime_error("the kernel's local variables need more than " +
                                 std::to_string(STACK_BYTES / 1024) +
                                 " KiB of stack. Keep large arrays in tensors or in GM.");
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Fiber::pause() {
    SALS_START_SWITCH(&fake_stack_inside_, outside_bottom_, outside_size_);
    swapcontext(&inside_, &outside_);
    SALS_FINISH_SWITCH(fake_stack_inside_, &outside_bottom_, &outside_size_);
}

void Fiber::leave_if_overflown(const void* address) {
    if (running == nullptr) return;
    const auto at = reinterpret_cast<uintptr_t>(address),
               guard = reinterpret_cast<uintptr_t>(running->stack_);
    if (at < guard || at >= guard + GUARD_BYTES) return;
    running->overflown_ = true;
    running->finished_ = true;
    setcontext(&running->outside_);
}

}  // namespace sals::sim
