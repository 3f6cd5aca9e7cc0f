// SPDX-License-Identifier: Apache-2.0
// cpu_kernel.h - stands in for the AI CPU SDK: kernels and their registration by the operator's type.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "cpu_context.h"

namespace aicpu {

class CpuKernel {
public:
    virtual ~CpuKernel() = default;
    virtual uint32_t Compute(CpuKernelContext& context) = 0;
};

using Creator = std::function<std::shared_ptr<CpuKernel>()>;
bool RegistCpuKernel(const std::string& type, const Creator& creator);

#define REGISTER_CPU_KERNEL(type, kernel)                                                       \
    std::shared_ptr<CpuKernel> Creator_##type##_Kernel() { return std::make_shared<kernel>(); } \
    bool g_##type##_Kernel_Creator __attribute__((unused)) = RegistCpuKernel(type, Creator_##type##_Kernel)

}  // namespace aicpu
