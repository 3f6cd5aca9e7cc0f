// SPDX-License-Identifier: Apache-2.0
// stack_guard.h - while it lives, this thread's fibers that run off their stack end with an error instead of
// the process.
#pragma once
#include <csignal>
#include <memory>

namespace sals::sim {

class StackGuard {
public:
    StackGuard();
    ~StackGuard();
    StackGuard(const StackGuard&) = delete;
    StackGuard& operator=(const StackGuard&) = delete;

private:
    std::unique_ptr<char[]> handler_stack_;
    stack_t before_{};
};

}  // namespace sals::sim
