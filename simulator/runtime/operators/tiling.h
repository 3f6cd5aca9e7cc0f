// SPDX-License-Identifier: Apache-2.0
// tiling.h - a call goes through the functions that op_host has registered for its operator.
#pragma once
#include <string>

#include "operators/call.h"
#include "register/op_def_registry.h"

namespace sals::npu {

struct Tiled {
    gert::TilingContext context;  // what the tiling function left: the launch of the kernel
    std::string function;         // its name, for the trace
};

// Runs the tiling function of a type. The error is the sentence in CANN's log.
aclError tile(const std::string& type, const Call& call, Tiled& tiled);

// Results must have the shapes and types that the operator's inference functions say.
aclError check_results(const std::string& type, const Call& call);

}  // namespace sals::npu
