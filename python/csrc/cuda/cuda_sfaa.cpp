// SPDX-License-Identifier: Apache-2.0
// cuda_sfaa.cpp - sals::sfaa on CUDA tensors. Lengths, ids and pages are not looked at here: the kernel keeps
// inside its tensors whatever they say (sfaa_tiling.h). A plan is checked and not needed.
#include <ATen/DeviceGuard.h>

#include "cuda/cuda_support.h"
#include "cuda/sfaa_policy.h"
#include "ops/library.h"
#include "sals/sfaa_launch.h"

namespace sals::ops {
namespace {

Status check_on_cuda(const Arguments& a, const SfaaProblem& p, const SfaaTiling& t) {
    Checker check(a.op());
    require_aligned(check, "key_cache", a.tensor("key_cache"));
    require_aligned(check, "value_cache", a.tensor("value_cache"));
    require_stride(check, "key_cache", p.cache);
    check.range("query list rows * splits on CUDA", cuda::sfaa_arrivals(t) * cuda::sfaa_splits(t), 0,
                INT32_MAX);
    check.range("block_ids width * block_size on CUDA", p.width * p.block_size, 0, INT32_MAX / 2);
    return check.status();
}

void sfaa(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const at::OptionalDeviceGuard guard(at::device_of(a.tensor("query")));
    const SfaaArgs args = read_sfaa(a);
    SfaaProblem p;
    raise_unless_ok(validate(a.op(), args, p));
    const bool return_lse = a.flag("return_lse");
    SfaaLaunch launch;
    launch.scale = args.scale;
    launch.causal = a.flag("causal");
    launch.return_lse = return_lse;
    const SfaaTiling tiling = make_sfaa_tiling(p, launch);
    raise_unless_ok(check_on_cuda(a, p, tiling));

    const at::Tensor query = packed(a, "query"), block_ids = packed(a, "block_ids");
    const at::Tensor selected_lens = packed(a, "selected_lens");
    const at::Tensor key_scale = a.tensor("key_scale"), value_scale = a.tensor("value_scale");
    const at::Tensor key_cache = a.tensor("key_cache");
    const at::Tensor value_cache = a.tensor("value_cache").defined() ? a.tensor("value_cache") : key_cache;
    const DeviceRequests requests(a, p.axis, p.cache, p.max_pages, tiling.max_visible);
    const at::Device device = query.device();
    const std::vector<int64_t> lse_shape =
        return_lse ? query_shape(p.axis, {p.n_q}) : std::vector<int64_t>{0};
    const at::Tensor out = result_on(a, "out", query.sizes().vec(), query.scalar_type(), device);
    const at::Tensor lse = result_on(a, "lse", lse_shape, at::kFloat, device);
    const at::Tensor parts = scratch_floats(cuda::sfaa_part_floats(tiling), device);
    const at::Tensor arrivals = zero_counters(cuda::sfaa_arrivals(tiling), device);

    cuda::SfaaArguments k{};
    k.tiling = tiling;
    k.requests = requests.pointers();
    const float* per_token_key = p.static_scales ? nullptr : device_pointer<float>(key_scale);
    const float* per_token_value = p.static_scales ? nullptr : device_pointer<float>(value_scale);
    k.keys = cuda::walk_of(p.cache, key_cache.const_data_ptr(), per_token_key, false);
    k.values = cuda::walk_of(p.cache, value_cache.const_data_ptr(), per_token_value, true);
    k.row_bytes = static_cast<int32_t>(p.cache.row_bytes);
    k.key_scale = p.static_scales ? device_pointer<float>(key_scale) : nullptr;
    k.value_scale = p.static_scales ? device_pointer<float>(value_scale) : nullptr;
    k.query = query.const_data_ptr();
    k.type = cuda_float_type(query);
    k.block_ids = device_pointer<int32_t>(block_ids);
    k.selected_lens = device_pointer<int32_t>(selected_lens);
    k.parts = device_writable<float>(parts);
    k.arrivals = device_writable<int32_t>(arrivals);
    k.out = out.mutable_data_ptr();
    k.lse = return_lse ? device_writable<float>(lse) : nullptr;
    check_launch(cuda::launch_sfaa(k, cuda_device(device)), a.op());
    a.give({out, lse});
}

}  // namespace

SALS_CUDA_OPERATORS(m) {
    m.impl("sfaa", torch::CppFunction::makeFromBoxedFunction<&sfaa>());
    m.impl("sfaa.out", torch::CppFunction::makeFromBoxedFunction<&sfaa>());
}

}  // namespace sals::ops
