// SPDX-License-Identifier: Apache-2.0
// cuda_support.h - what every CUDA operator does: find its device, read pointers, hand out counters.
#pragma once
#include <ATen/core/Tensor.h>

#include "cuda/launch.h"
#include "ops/device_results.h"
#include "sals/request_axis.h"

namespace sals::ops {

template <class T>
const T* device_pointer(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}
template <class T>
T* device_writable(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}

cuda::FloatType cuda_float_type(const at::Tensor& tensor);

// The current stream of a device.
cuda::Device cuda_device(const at::Device& device);

// Raises RuntimeError with CUDA's sentence unless a launch succeeded.
void check_launch(int status, const char* op);

// Counters that are 0 and that a launch leaves at 0, for one launch on the current stream. Calls of a stream
// share memory, since they run one after another; a captured call has its own, for as long as the process
// lives, because its graph may be replayed beside anything. Where memory for captures has run out, or was
// never set up by a call outside of one, the graph fills new counters with 0.
at::Tensor zero_counters(int64_t count, const at::Device& device);

// Scratch memory for one launch.
at::Tensor scratch_floats(int64_t count, const at::Device& device);

// The contiguous tensors that say which rows and pages there are, and the pointers to them.
class DeviceRequests {
public:
    DeviceRequests(const Arguments& a, const RequestAxis& axis, const CacheShape& cache, int64_t max_pages,
                   int32_t max_visible);
    const cuda::Requests& pointers() const { return requests_; }

private:
    at::Tensor seq_lens_, query_lens_, query_start_loc_, block_table_;
    cuda::Requests requests_;
};

// What the kernels cannot do although the operators can.
void require_aligned(Checker& check, const char* name, const at::Tensor& tensor);
void require_stride(Checker& check, const char* name, const CacheShape& cache);

}  // namespace sals::ops
