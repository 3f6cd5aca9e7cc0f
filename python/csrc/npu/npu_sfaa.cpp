// SPDX-License-Identifier: Apache-2.0
// npu_sfaa.cpp - sals::sfaa on NPU tensors. Lengths, ids, pages and plan are not looked at here: the kernel
// keeps inside its tensors whatever they say (sfaa_tiling.h).
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "npu/npu_support.h"
#include "npu/two_phase.h"
#include "sals/sfaa_launch.h"

namespace sals::ops {
namespace {

void sfaa(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const SfaaArgs args = read_sfaa(a);
    SfaaProblem p;
    raise_unless_ok(validate(a.op(), args, p));
    raise_unless_ok(check_on_device(a.op(), p, args.query.dtype));
    const at::Tensor query = packed(a, "query");
    const at::Device device = query.device();
    const c10::DeviceGuard guard(device);
    const bool return_lse = a.flag("return_lse");
    const std::vector<int64_t> lse_shape =
        return_lse ? query_shape(p.axis, {p.n_q}) : std::vector<int64_t>{0};
    const at::Tensor out = result_on(a, "out", query.sizes().vec(), query.scalar_type(), device);
    const at::Tensor lse = result_on(a, "lse", lse_shape, at::kFloat, device);
    run_two_phase("SalsSfaa", device, query, packed(a, "key_cache"), packed(a, "value_cache"),
                  packed(a, "key_scale"), packed(a, "value_scale"), packed(a, "block_ids"),
                  packed(a, "selected_lens"), packed(a, "seq_lens"), packed(a, "query_lens"),
                  packed(a, "query_start_loc"), packed(a, "block_table"), packed(a, "plan"), args.scale,
                  args.block_size, args.layout, args.request.query_layout, a.flag("causal"), return_lse, out,
                  lse);
    a.give({out, lse});
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, PrivateUse1, m) {
    m.impl("sfaa", torch::CppFunction::makeFromBoxedFunction<&sfaa>());
    m.impl("sfaa.out", torch::CppFunction::makeFromBoxedFunction<&sfaa>());
}

}  // namespace sals::ops
