// SPDX-License-Identifier: Apache-2.0
#include "ops/read_calls.h"

#include <c10/util/Exception.h>

namespace sals::ops {
namespace {

constexpr int64_t SYMBOLIC = -1;  // a size that only a traced program knows

TensorSpec spec_of(const Arguments& a, const char* name) { return ops::spec_of(name, a.tensor(name)); }

int64_t max_seq_len_or_zero(const Arguments& a) {
    const auto known = a.sym_int("max_seq_len").maybe_as_int();
    return known.value_or(0);
}

RequestArgs read_request(const Arguments& a) {
    RequestArgs r;
    r.seq_lens = spec_of(a, "seq_lens");
    r.query_lens = spec_of(a, "query_lens");
    r.query_start_loc = spec_of(a, "query_start_loc");
    r.query_layout = a.text("query_layout");
    return r;
}

}  // namespace

DType dtype_of(at::ScalarType type) {
    switch (type) {
        case at::kHalf:
            return DType::FLOAT16;
        case at::kBFloat16:
            return DType::BFLOAT16;
        case at::kFloat:
            return DType::FLOAT32;
        case at::kChar:
            return DType::INT8;
        case at::kInt:
            return DType::INT32;
        default:
            return DType::OTHER;
    }
}

TensorSpec spec_of(const char* name, const at::Tensor& tensor) {
    TensorSpec spec;
    spec.name = name;
    spec.present = tensor.defined();
    if (!spec.present) return spec;
    spec.dtype = dtype_of(tensor.scalar_type());
    if (spec.dtype == DType::OTHER) {
        spec.dtype_text = std::string(c10::toString(tensor.scalar_type()));
    } else {
        spec.dtype_text = dtype_name(spec.dtype);
    }
    spec.device = tensor.device().str();
    for (const c10::SymInt& size : tensor.sym_sizes())
        spec.shape.push_back(size.maybe_as_int().value_or(SYMBOLIC));
    spec.contiguous = tensor.is_meta() || tensor.is_contiguous();
    return spec;
}

SelectionArgs read_selection(const Arguments& a) {
    SelectionArgs s;
    s.block_size = a.integer("block_size");
    s.max_seq_len = max_seq_len_or_zero(a);
    if (!a.has("keep_num")) return s;  // block_scores selects nothing
    s.keep_num = a.integer("keep_num");
    s.keep_den = a.integer("keep_den");
    s.min_blocks = a.integer("min_blocks");
    s.max_blocks = a.integer("max_blocks");
    s.coverage = a.real("coverage");
    s.sink_blocks = a.integer("sink_blocks");
    s.tail_blocks = a.integer("tail_blocks");
    if (a.has("order")) s.order = a.text("order");
    return s;
}

QsiArgs read_qsi(const Arguments& a) {
    QsiArgs q;
    q.query = spec_of(a, "query");
    q.query_scale = spec_of(a, "query_scale");
    q.key_cache = spec_of(a, "key_cache");
    q.key_scale = spec_of(a, "key_scale");
    q.block_table = spec_of(a, "block_table");
    q.request = read_request(a);
    if (a.has("plan")) q.request.plan = spec_of(a, "plan");
    q.selection = read_selection(a);
    q.layout = a.text("layout");
    return q;
}

SfaaArgs read_sfaa(const Arguments& a) {
    SfaaArgs s;
    s.query = spec_of(a, "query");
    s.key_cache = spec_of(a, "key_cache");
    s.value_cache = spec_of(a, "value_cache");
    s.key_scale = spec_of(a, "key_scale");
    s.value_scale = spec_of(a, "value_scale");
    s.block_ids = spec_of(a, "block_ids");
    s.selected_lens = spec_of(a, "selected_lens");
    s.block_table = spec_of(a, "block_table");
    s.request = read_request(a);
    s.request.plan = spec_of(a, "plan");
    s.scale = a.real("scale");
    s.block_size = a.integer("block_size");
    s.layout = a.text("layout");
    return s;
}

PlanArgs read_plan(const Arguments& a) {
    PlanArgs p;
    p.request = read_request(a);
    p.selection = read_selection(a);
    p.s_q = a.integer("s_q");
    p.num_cores = a.integer("num_cores");
    const bool indexer = a.has("n_idx");
    p.heads = a.integer(indexer ? "n_idx" : "n_kv");
    if (indexer) return p;
    p.group = a.integer("group");
    p.shared_list = a.flag("shared_list");
    return p;
}

ProjectQueryArgs read_project_query(const Arguments& a) {
    ProjectQueryArgs p;
    p.query = spec_of(a, "query");
    p.projection = spec_of(a, "projection");
    p.n_idx = a.integer("n_idx");
    p.scale = a.real("scale");
    return p;
}

WriteCacheArgs read_write_cache(const Arguments& a) {
    WriteCacheArgs w;
    w.key = spec_of(a, "key");
    w.value = spec_of(a, "value");
    w.index_key = spec_of(a, "index_key");
    w.projection = spec_of(a, "projection");
    w.slot_mapping = spec_of(a, "slot_mapping");
    w.key_cache = spec_of(a, "key_cache");
    w.value_cache = spec_of(a, "value_cache");
    w.index_cache = spec_of(a, "index_cache");
    w.index_scale = spec_of(a, "index_scale");
    w.key_scale = spec_of(a, "key_scale");
    w.value_scale = spec_of(a, "value_scale");
    w.layout = a.text("layout");
    w.static_scales = a.flag("static_scales");
    return w;
}

void raise_unless_ok(const Status& status) { TORCH_CHECK_VALUE(status.ok(), status.text); }

}  // namespace sals::ops
