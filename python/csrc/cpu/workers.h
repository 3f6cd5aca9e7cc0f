// SPDX-License-Identifier: Apache-2.0
// workers.h - the thread pool that a caller lends to the CPU kernels.
#pragma once
#include <cstdint>
#include <functional>

namespace sals::cpu {

struct Workers {
    int64_t count = 1;                                                      // threads that run at once
    std::function<void(int64_t, const std::function<void(int64_t)>&)> run;  // run(n, f): f(0) .. f(n - 1)
};

}  // namespace sals::cpu
