// SPDX-License-Identifier: Apache-2.0
// operator.h - how an operator of torch_npu is written down that one of ATen's CPU kernels computes.
#pragma once
#include <ATen/ATen.h>

#include <exception>
#include <utility>

#include "opapi/two_phase.h"
#include "opapi/views.h"

namespace sals::npu {

// `capture()` makes views of the arguments and returns the work on them.
template <class Capture>
int compute(const char* name, uint64_t* workspace_bytes, aclOpExecutor** executor, const Capture& capture) {
    try {
        auto work = capture();
        return first_phase({name, 0,
                            [work = std::move(work)](uint8_t*) {
                                const c10::InferenceMode guard;
                                work();
                                return Outcome{};
                            }},
                           workspace_bytes, executor);
    } catch (const std::exception& error) {
        return fail(ACL_ERROR_INVALID_PARAM, std::string(name) + ": " + error.what());
    }
}

}  // namespace sals::npu

// The first phase of `name` with parameters `...`; `work` captures what it needs of them by value.
#define OPERATOR(name, work, ...)                                                 \
    extern "C" int name##GetWorkspaceSize(__VA_ARGS__, uint64_t* workspace_bytes, \
                                          aclOpExecutor** executor) {             \
        using namespace sals::npu;                                                \
        return compute(#name, workspace_bytes, executor, [&] { return work; });   \
    }                                                                             \
    SALS_SECOND_PHASE(name)

#define LET(variable, argument) variable = view_of(argument)
