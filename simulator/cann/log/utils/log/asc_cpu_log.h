// SPDX-License-Identifier: Apache-2.0
// asc_cpu_log.h - stands in for CANN's log: keeps a thread's last error for the runtime.
#pragma once
#include <cstdio>
#include <string>

namespace sals::npu {

inline thread_local std::string last_host_error;

template <class... Values>
void log_host_error(const char* format, Values... values) {
    char text[1024];
    std::snprintf(text, sizeof(text), format, values...);
    last_host_error = text;
    if (!last_host_error.empty() && last_host_error.back() == '\n') last_host_error.pop_back();
}

}  // namespace sals::npu

#define ASC_CPU_LOG_ERROR(...) sals::npu::log_host_error(__VA_ARGS__)
