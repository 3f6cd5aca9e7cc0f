// SPDX-License-Identifier: Apache-2.0
// npu_qsi.cpp - sals::qsi on NPU tensors. Lengths, pages and plan are not looked at here: the kernel keeps
// inside its tensors whatever they say (qsi_tiling.h).
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "npu/npu_support.h"
#include "npu/two_phase.h"
#include "sals/qsi_launch.h"

namespace sals::ops {
namespace {

void qsi(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    const QsiArgs args = read_qsi(a);
    QsiProblem p;
    raise_unless_ok(validate(a.op(), args, p));
    raise_unless_ok(check_on_device(a.op(), p));
    const at::Device device = a.tensor("query").device();
    const c10::DeviceGuard guard(device);
    const at::Tensor ids =
        result_on(a, "block_ids", query_shape(p.axis, {p.n_idx, p.width}), at::kInt, device);
    const at::Tensor lens = result_on(a, "selected_lens", query_shape(p.axis, {p.n_idx}), at::kInt, device);
    const SelectionArgs& s = args.selection;
    run_two_phase("SalsQsi", device, packed(a, "query"), packed(a, "query_scale"), packed(a, "key_cache"),
                  packed(a, "key_scale"), packed(a, "seq_lens"), packed(a, "query_lens"),
                  packed(a, "query_start_loc"), packed(a, "block_table"), packed(a, "plan"), s.max_seq_len,
                  s.block_size, s.keep_num, s.keep_den, s.min_blocks, s.max_blocks, s.coverage, s.sink_blocks,
                  s.tail_blocks, args.layout, args.request.query_layout, s.order, ids, lens);
    a.give({ids, lens});
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, PrivateUse1, m) {
    m.impl("qsi", torch::CppFunction::makeFromBoxedFunction<&qsi>());
    m.impl("qsi.out", torch::CppFunction::makeFromBoxedFunction<&qsi>());
}

}  // namespace sals::ops
