// SPDX-License-Identifier: Apache-2.0
#include "common/report.h"

// CANN's log for tiling functions. Toolkits before 8.3 do not have it: there the sentence goes to stderr.
#if __has_include("utils/log/asc_cpu_log.h")
#include "utils/log/asc_cpu_log.h"
#else
#include <cstdio>
#define ASC_CPU_LOG_ERROR(...) std::fprintf(stderr, __VA_ARGS__)
#endif

namespace sals::host {

ge::graphStatus refuse(const Status& status) {
    ASC_CPU_LOG_ERROR("%s\n", status.text.c_str());
    return ge::GRAPH_FAILED;
}

}  // namespace sals::host
