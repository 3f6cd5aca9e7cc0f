// SPDX-License-Identifier: Apache-2.0
// meta.cpp - shapes and dtypes of the results, symbolic all the way: a size read as a number here would
// make a compiled program compile again for every batch and length.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <vector>

#include "ops/read_calls.h"

namespace sals {

template <>
struct Extrema<c10::SymInt> {
    static c10::SymInt smaller(const c10::SymInt& a, const c10::SymInt& b) { return a.min(b); }
    static c10::SymInt larger(const c10::SymInt& a, const c10::SymInt& b) { return a.max(b); }
};

}  // namespace sals

namespace sals::ops {
namespace {

using Sizes = std::vector<c10::SymInt>;

template <class Args>
void require_types(const Arguments& a, const Args& args) {
    Checker check(a.op());
    check_types(check, args);
    raise_unless_ok(check.status());
}

at::Tensor empty_like_query(const at::Tensor& query, const Sizes& sizes, at::ScalarType type) {
    return at::empty_symint(sizes, query.options().dtype(type));
}

// The leading axes of `query` up to its n_idx or n_q axis, then `inner`.
Sizes per_query(const at::Tensor& query, const Sizes& inner) {
    Sizes sizes(query.sym_sizes().begin(), query.sym_sizes().end() - 1);
    sizes.insert(sizes.end(), inner.begin(), inner.end());
    return sizes;
}

SelectionParams require_selection(const Arguments& a) {
    Checker check(a.op());
    const SelectionParams params = check_selection(check, read_selection(a));
    raise_unless_ok(check.status());
    return params;
}

struct Out {
    const char* name;
    at::ScalarType type;
};

// The caller's tensors of an .out form. One on the meta device among real ones ends up here as well.
std::vector<c10::IValue> out_tensors(const Arguments& a, const char* leader,
                                     std::initializer_list<Out> outs) {
    Checker check(a.op());
    std::vector<c10::IValue> tensors;
    for (const Out& out : outs) {
        tensors.emplace_back(a.tensor(out.name));
        const TensorSpec spec = spec_of(out.name, a.tensor(out.name));
        check.present(spec);
        check.same_device(spec, spec_of(leader, a.tensor(leader)));
        check.dtype(spec, {dtype_of(out.type)});
    }
    raise_unless_ok(check.status());
    return tensors;
}

void qsi(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    require_types(a, read_qsi(a));
    const SelectionParams params = require_selection(a);
    if (a.is_out()) {
        return a.give(out_tensors(a, "query", {{"block_ids", at::kInt}, {"selected_lens", at::kInt}}));
    }
    const at::Tensor query = a.tensor("query");
    const c10::SymInt width = list_width(a.sym_int("max_seq_len"), params);
    a.give({empty_like_query(query, per_query(query, {width}), at::kInt),
            empty_like_query(query, per_query(query, {}), at::kInt)});
}

void block_scores(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    require_types(a, read_qsi(a));
    const SelectionParams params = require_selection(a);
    const at::Tensor query = a.tensor("query");
    const c10::SymInt blocks = num_blocks(a.sym_int("max_seq_len"), params.block_size);
    a.give({empty_like_query(query, per_query(query, {blocks}), at::kFloat)});
}

void sfaa(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    require_types(a, read_sfaa(a));
    const at::Tensor query = a.tensor("query");
    if (a.is_out()) {
        return a.give(out_tensors(a, "query", {{"out", query.scalar_type()}, {"lse", at::kFloat}}));
    }
    const Sizes lse = a.flag("return_lse") ? per_query(query, {}) : Sizes{0};
    a.give({empty_like_query(query, query.sym_sizes().vec(), query.scalar_type()),
            empty_like_query(query, lse, at::kFloat)});
}

void make_plan(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    require_types(a, read_plan(a));
    require_selection(a);
    if (a.is_out()) return a.give(out_tensors(a, "seq_lens", {{"plan", at::kInt}}));
    a.give({empty_like_query(a.tensor("seq_lens"), {PLAN_WORDS}, at::kInt)});
}

void project_query(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    require_types(a, read_project_query(a));
    const at::Tensor query = a.tensor("query");
    const c10::SymInt n_idx = a.integer("n_idx");
    Sizes leading(query.sym_sizes().begin(), query.sym_sizes().end() - 2);
    leading.push_back(n_idx);
    Sizes packed = leading;
    packed.push_back(a.tensor("projection").sym_size(2) / c10::SymInt(RANK_MULTIPLE));
    a.give({empty_like_query(query, packed, at::kInt), empty_like_query(query, leading, at::kFloat)});
}

void write_cache(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    Arguments a(op, *stack);
    require_types(a, read_write_cache(a));
    a.give({});
}

}  // namespace

TORCH_LIBRARY_IMPL(sals, Meta, m) {
    m.impl("qsi", torch::CppFunction::makeFromBoxedFunction<&qsi>());
    m.impl("qsi.out", torch::CppFunction::makeFromBoxedFunction<&qsi>());
    m.impl("block_scores", torch::CppFunction::makeFromBoxedFunction<&block_scores>());
    m.impl("sfaa", torch::CppFunction::makeFromBoxedFunction<&sfaa>());
    m.impl("sfaa.out", torch::CppFunction::makeFromBoxedFunction<&sfaa>());
    m.impl("qsi_plan", torch::CppFunction::makeFromBoxedFunction<&make_plan>());
    m.impl("qsi_plan.out", torch::CppFunction::makeFromBoxedFunction<&make_plan>());
    m.impl("sfaa_plan", torch::CppFunction::makeFromBoxedFunction<&make_plan>());
    m.impl("sfaa_plan.out", torch::CppFunction::makeFromBoxedFunction<&make_plan>());
    m.impl("project_query", torch::CppFunction::makeFromBoxedFunction<&project_query>());
    m.impl("write_cache", torch::CppFunction::makeFromBoxedFunction<&write_cache>());
}

}  // namespace sals::ops
