// SPDX-License-Identifier: Apache-2.0
// faults.h - failures and delays on demand, for tests: C functions that a test finds by name.
#pragma once
#include <cstdint>

#include "acl/acl.h"

extern "C" {
// The n-th allocation of device memory, or operator, from now on fails once; 0: none. An operator fails on
// the device, or the call that launches it is refused.
void sals_npu_fail_allocation(int64_t n);
void sals_npu_fail_launch(int64_t n);
void sals_npu_refuse_launch(int64_t n);
// The n-th tiling function from now on finds a kernel binary that was built for another tiling.
void sals_npu_other_tiling(int64_t n);
// What is put on the stream from now on waits until sals_npu_release().
void sals_npu_hold(aclrtStream stream);
void sals_npu_release();
}

namespace sals::npu {

bool is_failing_allocation();
bool is_failing_launch();
bool is_refused_launch();
bool is_other_tiling();

}  // namespace sals::npu
