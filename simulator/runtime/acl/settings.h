// SPDX-License-Identifier: Apache-2.0
// settings.h - what the environment says about the simulated devices.
//     SALS_NPU_DEVICES  devices                                                       (2)
//     SALS_NPU_CORES    AI cores of each, every one a cube core and two vector cores  (20)
//     SALS_NPU_MEMORY   MiB of each                                                   (1024)
//     SALS_NPU_PROTECT  1: a host program that dereferences device memory crashes     (1)
#pragma once
#include <cstddef>
#include <cstdint>

namespace sals::npu {

struct Settings {
    int32_t devices;
    int32_t cores;
    size_t memory_bytes;
    bool protect;
};

const Settings& settings();  // read once

}  // namespace sals::npu
