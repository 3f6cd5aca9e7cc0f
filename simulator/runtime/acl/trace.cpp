// SPDX-License-Identifier: Apache-2.0
#include "acl/trace.h"

#include <cstdlib>
#include <fstream>
#include <mutex>

namespace sals::npu {

void trace(int32_t device, int32_t stream, const std::string& task, const Outcome& outcome) {
    static const char* path = std::getenv("SALS_NPU_TRACE");
    if (path == nullptr) return;
    static std::mutex mutex;
    static std::ofstream file(path, std::ios::app);
    const std::lock_guard<std::mutex> lock(mutex);
    file << device << '\t' << stream << '\t' << task << '\t' << outcome.text << '\t' << outcome.host_function
         << std::endl;
}

}  // namespace sals::npu
