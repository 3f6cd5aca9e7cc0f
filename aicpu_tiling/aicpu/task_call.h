// SPDX-License-Identifier: Apache-2.0
// task_call.h - the arguments of an AI CPU task of a plan operator, by name (see sals/read_calls.h).
#pragma once
#include <string>

#include "cpu_context.h"
#include "sals/request_rows.h"

namespace sals::aicpu_task {

class TaskCall {
public:
    explicit TaskCall(const aicpu::CpuKernelContext& context) : context_(context) {}

    bool has(const char* name) const { return context_.GetAttr(name) != nullptr; }
    int64_t integer(const char* name) const { return context_.GetAttr(name)->GetInt(); }
    double real(const char* name) const { return context_.GetAttr(name)->GetFloat(); }
    bool flag(const char* name) const { return context_.GetAttr(name)->GetBool(); }
    std::string text(const char* name) const { return context_.GetAttr(name)->GetString(); }
    TensorSpec tensor(const char* name) const;

    RequestTensors request() const;
    int32_t* plan() const;  // null if the task has no room for one

private:
    aicpu::Tensor* input(const std::string& name) const;

    const aicpu::CpuKernelContext& context_;
};

}  // namespace sals::aicpu_task
