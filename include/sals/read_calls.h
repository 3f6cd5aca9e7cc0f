// SPDX-License-Identifier: Apache-2.0
// read_calls.h - from an operator call to the arguments that the checks understand, whoever makes the call:
// torch, an aclnn function or an AI CPU task. `Call` answers for arguments by their name in the operator's
// schema:
//     TensorSpec tensor(name)    not present if the caller left it out
//     int64_t integer(name)      double real(name)      bool flag(name)      std::string text(name)
//     bool has(name)             whether the operator has such an argument
// Host only.
#pragma once
#include "sals/cache_problem.h"
#include "sals/plan_problem.h"
#include "sals/qsi_problem.h"
#include "sals/sfaa_problem.h"

namespace sals {

template <class Call>
RequestArgs read_request(const Call& c) {
    RequestArgs r;
    r.seq_lens = c.tensor("seq_lens");
    r.query_lens = c.tensor("query_lens");
    r.query_start_loc = c.tensor("query_start_loc");
    r.query_layout = c.text("query_layout");
    return r;
}

template <class Call>
SelectionArgs read_selection(const Call& c) {
    SelectionArgs s;
    s.block_size = c.integer("block_size");
    s.max_seq_len = c.integer("max_seq_len");
    if (!c.has("keep_num")) return s;  // block_scores selects nothing
    s.keep_num = c.integer("keep_num");
    s.keep_den = c.integer("keep_den");
    s.min_blocks = c.integer("min_blocks");
    s.max_blocks = c.integer("max_blocks");
    s.coverage = c.real("coverage");
    s.sink_blocks = c.integer("sink_blocks");
    s.tail_blocks = c.integer("tail_blocks");
    if (c.has("order")) s.order = c.text("order");
    return s;
}

template <class Call>
QsiArgs read_qsi(const Call& c) {  // qsi and block_scores
    QsiArgs q;
    q.query = c.tensor("query");
    q.query_scale = c.tensor("query_scale");
    q.key_cache = c.tensor("key_cache");
    q.key_scale = c.tensor("key_scale");
    q.block_table = c.tensor("block_table");
    q.request = read_request(c);
    if (c.has("plan")) q.request.plan = c.tensor("plan");
    q.selection = read_selection(c);
    q.layout = c.text("layout");
    return q;
}

template <class Call>
SfaaArgs read_sfaa(const Call& c) {
    SfaaArgs s;
    s.query = c.tensor("query");
    s.key_cache = c.tensor("key_cache");
    s.value_cache = c.tensor("value_cache");
    s.key_scale = c.tensor("key_scale");
    s.value_scale = c.tensor("value_scale");
    s.block_ids = c.tensor("block_ids");
    s.selected_lens = c.tensor("selected_lens");
    s.block_table = c.tensor("block_table");
    s.request = read_request(c);
    s.request.plan = c.tensor("plan");
    s.scale = c.real("scale");
    s.block_size = c.integer("block_size");
    s.layout = c.text("layout");
    return s;
}

template <class Call>
PlanArgs read_plan(const Call& c) {  // qsi_plan and sfaa_plan
    PlanArgs p;
    p.request = read_request(c);
    p.selection = read_selection(c);
    p.s_q = c.integer("s_q");
    p.num_cores = c.integer("num_cores");
    const bool indexer = c.has("n_idx");
    p.heads = c.integer(indexer ? "n_idx" : "n_kv");
    if (indexer) return p;
    p.group = c.integer("group");
    p.shared_list = c.flag("shared_list");
    return p;
}

template <class Call>
ProjectQueryArgs read_project_query(const Call& c) {
    ProjectQueryArgs p;
    p.query = c.tensor("query");
    p.projection = c.tensor("projection");
    p.n_idx = c.integer("n_idx");
    p.scale = c.real("scale");
    return p;
}

template <class Call>
WriteCacheArgs read_write_cache(const Call& c) {
    WriteCacheArgs w;
    w.key = c.tensor("key");
    w.value = c.tensor("value");
    w.index_key = c.tensor("index_key");
    w.projection = c.tensor("projection");
    w.slot_mapping = c.tensor("slot_mapping");
    w.key_cache = c.tensor("key_cache");
    w.value_cache = c.tensor("value_cache");
    w.index_cache = c.tensor("index_cache");
    w.index_scale = c.tensor("index_scale");
    w.key_scale = c.tensor("key_scale");
    w.value_scale = c.tensor("value_scale");
    w.layout = c.text("layout");
    w.static_scales = c.flag("static_scales");
    return w;
}

}  // namespace sals
