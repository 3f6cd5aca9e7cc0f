// SPDX-License-Identifier: Apache-2.0
// profiler.cpp - the profiler's hooks in libtorch_npu.so. Nothing is profiled here: every report is dropped.
// No header declares these functions; their arguments are not looked at.
#include <chrono>
#include <cstdint>

extern "C" {

int32_t MsprofRegisterCallback() { return 0; }
int32_t MsprofReportAdditionalInfo() { return 0; }
int32_t MsprofReportApi() { return 0; }
int32_t MsprofReportCompactInfo() { return 0; }
uint64_t MsprofGetHashId() { return 0; }

uint64_t MsprofSysCycleTime() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
}
