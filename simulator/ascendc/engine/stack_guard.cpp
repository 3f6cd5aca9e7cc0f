// SPDX-License-Identifier: Apache-2.0
// stack_guard.cpp - the handler of SIGSEGV runs on a stack of its own and leaves through the fiber's way out.
#include "engine/stack_guard.h"

#include <mutex>

#include "engine/fiber.h"

namespace sals::sim {
namespace {

constexpr size_t HANDLER_STACK_BYTES = 64 * 1024;

std::mutex installing;
int guards = 0;  // of all threads: the handler belongs to the process
struct sigaction before_us;

void handle(int, siginfo_t* info, void*) {
    Fiber::leave_if_overflown(info->si_addr);
    sigaction(SIGSEGV, &before_us, nullptr);  // not ours: it happens again, and goes where it went before
}

}  // namespace

StackGuard::StackGuard() : handler_stack_(new char[HANDLER_STACK_BYTES]) {
    stack_t own{};
    own.ss_sp = handler_stack_.get();
    own.ss_size = HANDLER_STACK_BYTES;
    sigaltstack(&own, &before_);
    const std::lock_guard<std::mutex> lock(installing);
    if (guards++ > 0) return;
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &before_us);
}

StackGuard::~StackGuard() {
    {
        const std::lock_guard<std::mutex> lock(installing);
        if (--guards == 0) sigaction(SIGSEGV, &before_us, nullptr);
    }
    sigaltstack(&before_, nullptr);
}

}  // namespace sals::sim
