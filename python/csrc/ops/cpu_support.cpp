// SPDX-License-Identifier: Apache-2.0
#include "ops/cpu_support.h"

#include <ATen/Parallel.h>

#include <cstring>

#include "ops/device_results.h"

#if !defined(INTRA_OP_PARALLEL)
#error "at::parallel_for would run on one thread: compile this file with OpenMP"
#endif

namespace sals::ops {

cpu::Workers aten_workers() {
    return {at::get_num_threads(), [](int64_t n, const std::function<void(int64_t)>& f) {
                at::parallel_for(0, n, 1, [&f](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) f(i);
                });
            }};
}

cpu::FloatType float_type(const at::Tensor& tensor) {
    switch (tensor.scalar_type()) {
        case at::kHalf:
            return cpu::FloatType::FLOAT16;
        case at::kBFloat16:
            return cpu::FloatType::BFLOAT16;
        default:
            return cpu::FloatType::FLOAT32;
    }
}

RequestInputs::RequestInputs(const Arguments& a) {
    const auto keep = [this, &a](const char* name) {
        const at::Tensor tensor = a.tensor(name);
        if (!tensor.defined()) return static_cast<const int32_t*>(nullptr);
        kept_.push_back(tensor.contiguous());
        return pointer<int32_t>(kept_.back());
    };
    tensors_.seq_lens = keep("seq_lens");
    tensors_.query_lens = keep("query_lens");
    tensors_.query_start_loc = keep("query_start_loc");
    if (a.has("block_table")) tensors_.block_table = keep("block_table");
}

std::optional<Plan> read_plan_of_call(const Arguments& a, PlanOp kind, int64_t num_rows, int64_t live_rows) {
    const at::Tensor tensor = a.tensor("plan");
    if (!tensor.defined()) return std::nullopt;
    Plan plan;
    std::memcpy(&plan, tensor.contiguous().const_data_ptr(), sizeof(plan));
    raise_unless_ok(validate_plan(a.op(), plan, kind, num_rows, live_rows));
    return plan;
}

int64_t live_tokens(const RequestAxis& axis, const RequestTensors& request) {
    return axis.layout == QueryLayout::TND ? request.query_start_loc[axis.batch] : axis.tokens;
}

at::Tensor result(const Arguments& a, const char* name, const std::vector<int64_t>& shape,
                  at::ScalarType type) {
    return result_on(a, name, shape, type, at::kCPU);
}

}  // namespace sals::ops
