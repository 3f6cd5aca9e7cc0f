// SPDX-License-Identifier: Apache-2.0
// cuda_qsi.cpp - sals::qsi and sals::block_scores on CUDA tensors. Lengths and pages are not looked at here:
// the kernel keeps inside its tensors whatever they say (qsi_tiling.h). A plan is checked and not needed.
#include <ATen/DeviceGuard.h>

#include "cuda/cuda_support.h"
#include "ops/library.h"
#include "sals/qsi_launch.h"

namespace sals::ops {
namespace {

Status check_on_cuda(const Arguments& a, const QsiProblem& p) {
    constexpr int64_t LEAST_CHUNK = 1024;  // tokens
    Checker check(a.op());
    require_stride(check, "key_cache", p.cache);
    check.range("query list rows * max_seq_len / 1024 on CUDA",
                p.rows() * ceil_div<int64_t>(larger(p.max_seq_len, int64_t{1}), LEAST_CHUNK), 0, INT32_MAX);
    return check.status();
}

// A checked indexer call and what its kernel needs.
struct QsiCall {
    explicit QsiCall(const Arguments& a)
        : problem(checked(a)),
          tiling(make_qsi_tiling(problem, 0)),
          query(packed(a, "query")),
          query_scale(packed(a, "query_scale")),
          key_cache(a.tensor("key_cache")),
          key_scale(a.tensor("key_scale")),
          requests(a, problem.axis, problem.cache, problem.max_pages, tiling.max_visible) {}

    cuda::QsiArguments arguments() const {
        constexpr int64_t WIDE_RANK = 32;  // 16 bytes
        cuda::QsiArguments k{};
        k.tiling = tiling;
        k.requests = requests.pointers();
        k.keys =
            cuda::walk_of(problem.cache, key_cache.const_data_ptr(), device_pointer<float>(key_scale), false);
        k.query = device_pointer<int32_t>(query);
        k.query_scale = device_pointer<float>(query_scale);
        Checker check("");
        require_aligned(check, "key_cache", key_cache);
        k.has_wide_rows = check.ok() && problem.rank % WIDE_RANK == 0;
        return k;
    }

    QsiProblem problem;
    QsiTiling tiling;
    at::Tensor query, query_scale, key_cache, key_scale;
    DeviceRequests requests;

private:
    static QsiProblem checked(const Arguments& a) {
        QsiProblem p;
        raise_unless_ok(validate(a.op(), read_qsi(a), p));
        raise_unless_ok(check_on_cuda(a, p));
        return p;
    }
};

void qsi(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const at::OptionalDeviceGuard guard(at::device_of(a.tensor("query")));
    const QsiCall call(a);
    const QsiProblem& p = call.problem;
    const at::Device device = call.query.device();
    const at::Tensor ids =
        result_on(a, "block_ids", query_shape(p.axis, {p.n_idx, p.width}), at::kInt, device);
    const at::Tensor lens = result_on(a, "selected_lens", query_shape(p.axis, {p.n_idx}), at::kInt, device);
    cuda::QsiArguments k = call.arguments();
    k.score_stride = ceil_div<int64_t>(call.tiling.max_candidates, 4) * 4;  // rows of whole 16 bytes
    const at::Tensor scores = scratch_floats(p.rows() * k.score_stride, device);
    const at::Tensor arrivals = zero_counters(p.rows(), device);
    k.scores = device_writable<float>(scores);
    k.arrivals = device_writable<int32_t>(arrivals);
    k.block_ids = device_writable<int32_t>(ids);
    k.selected_lens = device_writable<int32_t>(lens);
    check_launch(cuda::launch_qsi(k, cuda_device(device)), a.op());
    a.give({ids, lens});
}

void block_scores(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const at::OptionalDeviceGuard guard(at::device_of(a.tensor("query")));
    const QsiCall call(a);
    const QsiProblem& p = call.problem;
    const at::Device device = call.query.device();
    cuda::QsiArguments k = call.arguments();
    k.score_stride = num_blocks(p.max_seq_len, p.selection.block_size);
    const at::Tensor scores =
        result_on(a, "scores", query_shape(p.axis, {p.n_idx, k.score_stride}), at::kFloat, device);
    k.scores = device_writable<float>(scores);
    check_launch(cuda::launch_block_scores(k, cuda_device(device)), a.op());
    a.give({scores});
}

}  // namespace

SALS_CUDA_OPERATORS(m) {
    m.impl("qsi", torch::CppFunction::makeFromBoxedFunction<&qsi>());
    m.impl("qsi.out", torch::CppFunction::makeFromBoxedFunction<&qsi>());
    m.impl("block_scores", torch::CppFunction::makeFromBoxedFunction<&block_scores>());
}

}  // namespace sals::ops
