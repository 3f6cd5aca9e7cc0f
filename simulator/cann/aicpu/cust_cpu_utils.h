// SPDX-License-Identifier: Apache-2.0
// cust_cpu_utils.h - stands in for the AI CPU SDK: the log of a task.
#pragma once
#include <cstdarg>
#include <cstdio>

#include "cpu_context.h"

namespace aicpu {

class CustCpuKernelUtils {
public:
    static void CustLogError(CpuKernelContext& context, const char* format, ...) {
        char text[512];
        va_list values;
        va_start(values, format);
        std::vsnprintf(text, sizeof(text), format, values);
        va_end(values);
        context.log = text;
    }
};

#define CUST_KERNEL_LOG_ERROR(context, ...) CustCpuKernelUtils::CustLogError(context, __VA_ARGS__)

}  // namespace aicpu
