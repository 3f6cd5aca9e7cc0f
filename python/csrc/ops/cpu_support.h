// SPDX-License-Identifier: Apache-2.0
// cpu_support.h - what every CPU operator does: read pointers, lend threads, check a plan, place results.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "cpu/sfaa.h"
#include "cpu/workers.h"
#include "ops/read_calls.h"
#include "sals/request_rows.h"

namespace sals::ops {

cpu::Workers aten_workers();

template <class T>
const T* pointer(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}

template <class T>
T* writable(const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}

cpu::FloatType float_type(const at::Tensor& tensor);

// Small per-request tensors, contiguous, kept alive as long as their pointers are used.
class RequestInputs {
public:
    explicit RequestInputs(const Arguments& a);
    const RequestTensors& tensors() const { return tensors_; }

private:
    std::vector<at::Tensor> kept_;
    RequestTensors tensors_;
};

// The checked plan of the call, or nothing if it has none.
std::optional<Plan> read_plan_of_call(const Arguments& a, PlanOp kind, int64_t num_rows, int64_t live_rows);

// Token rows up to the last real token.
int64_t live_tokens(const RequestAxis& axis, const RequestTensors& request);

// A new tensor, or for the .out form the caller's, which must have just this shape and dtype.
at::Tensor result(const Arguments& a, const char* name, const std::vector<int64_t>& shape,
                  at::ScalarType type);

}  // namespace sals::ops
