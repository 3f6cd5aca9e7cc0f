// SPDX-License-Identifier: Apache-2.0
// run_task.cpp - runs a registered AI CPU kernel on a task that the test put together.
#include <map>

#include "cpu_kernel.h"

namespace aicpu {

std::map<std::string, Creator>& creators() {
    static std::map<std::string, Creator> all;
    return all;
}

bool RegistCpuKernel(const std::string& type, const Creator& creator) {
    return creators().emplace(type, creator).second;
}

}  // namespace aicpu

using Task = aicpu::CpuKernelContext;

namespace {

std::shared_ptr<aicpu::Tensor> tensor(int32_t* words, const int64_t* sizes, int64_t axes) {
    return std::make_shared<aicpu::Tensor>(words, std::vector<int64_t>(sizes, sizes + axes), aicpu::DT_INT32);
}

template <class T>
void set(Task* task, const char* name, T value) {
    task->attributes[name] = std::make_shared<aicpu::AttrValue>(std::move(value));
}

}  // namespace

extern "C" {

Task* task_new() { return new Task(); }
void task_free(Task* task) { delete task; }
void task_input(Task* task, int32_t* words, const int64_t* sizes, int64_t axes) {
    task->inputs.push_back(tensor(words, sizes, axes));
}
void task_output(Task* task, int32_t* words, const int64_t* sizes, int64_t axes) {
    task->outputs.push_back(tensor(words, sizes, axes));
}
void task_int(Task* task, const char* name, int64_t value) { set(task, name, value); }
void task_float(Task* task, const char* name, float value) { set(task, name, value); }
void task_bool(Task* task, const char* name, bool value) { set(task, name, value); }
void task_text(Task* task, const char* name, const char* value) { set(task, name, std::string(value)); }
const char* task_log(Task* task) { return task->log.c_str(); }

uint32_t task_run(Task* task, const char* type) { return aicpu::creators().at(type)()->Compute(*task); }

}  // extern "C"
