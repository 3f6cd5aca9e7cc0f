// SPDX-License-Identifier: Apache-2.0
// lost_queue.h - the task queue of torch_npu ends with the first launch that fails in it: it raises that
// once, and then takes more work without running it. Our operators refuse such a queue, so that nobody gets
// results that were never computed.
#pragma once
#include <c10/core/Device.h>

#include <string>

namespace sals::ops {

void lose_queue(const c10::Device& device, const std::string& error);

// Raises RuntimeError with the error that ended the queue of the device, if one did.
void check_queue(const c10::Device& device);

}  // namespace sals::ops
