// SPDX-License-Identifier: Apache-2.0
// two_phase.h - runs an operator of the NPU library on the current stream. The first phase, on the calling
// thread, checks the arguments and says how much workspace it needs; the second, in torch_npu's task queue,
// launches. Nothing waits for the device. The workspace is an ordinary tensor: it may be freed when this
// returns, because the allocator gives it again only to later work of the same stream.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "npu/lost_queue.h"
#include "npu/operator_library.h"
#include "op_plugin/utils/op_api_common_base.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
#include "torch_npu/csrc/framework/OpCommand.h"

namespace sals::ops {

// An argument as the aclnn function takes it: tensors (undefined: null), texts, numbers.
inline aclTensor* as_aclnn(const at::Tensor& tensor) {
    return tensor.defined() ? ConvertType(tensor) : nullptr;
}
inline char* as_aclnn(const std::string& text) { return const_cast<char*>(text.c_str()); }
template <class T>
T as_aclnn(const T& number) {
    static_assert(std::is_arithmetic_v<T>);
    return number;
}

inline void release(aclTensor* tensor) { Release(tensor); }
template <class T>
void release(const T&) {}

// With the runtime's sentence, which it gives only once.
inline std::string aclnn_error(int status, const char* type) {
    const char* text = aclGetRecentErrMsg();
    return std::string("aclnn") + type + " failed with error " + std::to_string(status) + ": " +
           (text == nullptr ? "" : text);
}

// Runs aclnn<type> with its inputs, attributes and outputs, in that order.
template <class... Arguments>
void run_two_phase(const char* type, const at::Device& device, const Arguments&... arguments) {
    check_queue(device);
    const AclnnFunctions functions = find_aclnn(type);
    using First = int (*)(decltype(as_aclnn(arguments))..., uint64_t*, aclOpExecutor**);
    using Second = int (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);
    const aclrtStream stream = c10_npu::getCurrentNPUStream().stream(false);

    const auto converted = std::make_tuple(as_aclnn(arguments)...);
    const auto release_all = [converted] {
        std::apply([](const auto&... each) { (release(each), ...); }, converted);
    };
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const int status = std::apply(
        [&](const auto&... each) {
            return reinterpret_cast<First>(functions.get_workspace_size)(each..., &bytes, &executor);
        },
        converted);
    if (status != 0) {
        release_all();
        TORCH_CHECK(false, aclnn_error(status, type));
    }

    at::Tensor workspace;
    try {
        const auto options = at::TensorOptions().dtype(at::kByte).device(device);
        if (bytes > 0) workspace = at::empty({static_cast<int64_t>(bytes)}, options);
    } catch (...) {  // out of memory
        release_all();
        throw;
    }
    void* memory = bytes > 0 ? workspace.mutable_data_ptr() : nullptr;
    const std::thread::id caller = std::this_thread::get_id();
    const auto launch = [=]() -> int {
        const int launched = reinterpret_cast<Second>(functions.run)(memory, bytes, executor, stream);
        release_all();
        if (launched == 0) return launched;
        const std::string error = aclnn_error(launched, type);
        if (std::this_thread::get_id() != caller) lose_queue(device, error);
        TORCH_CHECK(false, error);
    };
    at_npu::native::OpCommand::RunOpApiV2(type, launch);
}

}  // namespace sals::ops
