// SPDX-License-Identifier: Apache-2.0
// two_phase.h - runs an operator of the NPU library on the current stream. The first phase, on the calling
// thread, checks the arguments and says how much workspace it needs; the second, in torch_npu's task queue,
// launches. Nothing waits for the device. The workspace is an ordinary tensor: it may be freed when this
// returns, because the allocator gives it again only to later work of the same stream.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <string>
#include <tuple>
#include <utility>

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

// Raises RuntimeError with the runtime's sentence.
inline void check_aclnn(int status, const char* type) {
    if (status == 0) return;
    const char* text = aclGetRecentErrMsg();
    TORCH_CHECK(false, "aclnn", type, " failed with error ", status, ": ", text == nullptr ? "" : text);
}

// Runs aclnn<type> with its inputs, attributes and outputs, in that order.
template <class... Arguments>
void run_two_phase(const char* type, const at::Device& device, const Arguments&... arguments) {
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
    if (status != 0) release_all();
    check_aclnn(status, type);

    at::Tensor workspace;
    try {
        const auto options = at::TensorOptions().dtype(at::kByte).device(device);
        if (bytes > 0) workspace = at::empty({static_cast<int64_t>(bytes)}, options);
    } catch (...) {  // out of memory
        release_all();
        throw;
    }
    void* memory = bytes > 0 ? workspace.mutable_data_ptr() : nullptr;
    const auto launch = [=]() -> int {
        const int launched = reinterpret_cast<Second>(functions.run)(memory, bytes, executor, stream);
        release_all();
        check_aclnn(launched, type);
        return launched;
    };
    at_npu::native::OpCommand::RunOpApiV2(type, launch);
}

}  // namespace sals::ops
