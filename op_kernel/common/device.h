// SPDX-License-Identifier: Apache-2.0
// device.h - what every kernel file includes first: Ascend C, and our spelling of a device function.
#pragma once
#include "kernel_operator.h"

#define SALS_DEVICE __aicore__ inline

// A condition that only a bug, or a caller who ignored the documented rules, can break. Whoever builds the
// kernel may define it; without a definition it costs nothing, and the code after it must be safe anyway.
#if !defined(SALS_ASSERT)
#define SALS_ASSERT(condition, text) ((void)0)
#endif

namespace sals {

// Calls without a tensor among their arguments, which would name the namespace.
using AscendC::CrossCoreWaitFlag;
using AscendC::SetFlag;
using AscendC::WaitFlag;

}  // namespace sals
