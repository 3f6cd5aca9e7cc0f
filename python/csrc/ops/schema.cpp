// SPDX-License-Identifier: Apache-2.0
// schema.cpp - the operators torch.ops.sals.*: names, arguments, defaults. Backends register by dispatch key.
// The CUDA kernels on a CPU are the same operators under another name (ops/library.h).
#include <torch/library.h>

#include <string>

#include "ops/library.h"
#include "sals/limits.h"

namespace sals::ops {
namespace {

std::string selection_arguments() {
    return "SymInt max_seq_len, int block_size=" + std::to_string(DEFAULT_BLOCK_SIZE) +
           ", int keep_num=1, int keep_den=4, int min_blocks=0, int max_blocks=" +
           std::to_string(DEFAULT_MAX_BLOCKS) +
           ", float coverage=0.0, int sink_blocks=" + std::to_string(DEFAULT_SINK_BLOCKS) +
           ", int tail_blocks=" + std::to_string(DEFAULT_TAIL_BLOCKS);
}

std::string block_size_argument() { return "int block_size=" + std::to_string(DEFAULT_BLOCK_SIZE); }

const std::string LENGTHS = "Tensor? query_lens=None, Tensor? query_start_loc=None, ";
const std::string QUERY_LAYOUT = "str query_layout=\"BSND\"";
const std::string INDEXER =
    "(Tensor query, Tensor query_scale, Tensor key_cache, Tensor key_scale, Tensor seq_lens, *, " + LENGTHS +
    "Tensor? block_table=None, ";
const std::string ATTENTION =
    "(Tensor query, Tensor key_cache, Tensor? value_cache, Tensor key_scale, Tensor value_scale, "
    "Tensor block_ids, Tensor selected_lens, Tensor seq_lens, *, " +
    LENGTHS + "Tensor? block_table=None, Tensor? plan=None, float scale, ";

// An operator that returns new tensors, and its twin that writes tensors of the caller.
void define(torch::Library& m, const std::string& name, const std::string& arguments,
            const std::string& outputs, const std::string& out_arguments, const std::string& out_outputs) {
    m.def((name + arguments + ") -> " + outputs).c_str());
    m.def((name + ".out" + arguments + ", " + out_arguments + ") -> " + out_outputs).c_str());
}

}  // namespace

SALS_OPERATORS(m) {
    define(m, "qsi",
           INDEXER + "Tensor? plan=None, " + selection_arguments() + ", str layout=\"PA_BNSD\", " +
               QUERY_LAYOUT + ", str order=\"index\"",
           "(Tensor block_ids, Tensor selected_lens)", "Tensor(a!) block_ids, Tensor(b!) selected_lens",
           "(Tensor(a!), Tensor(b!))");
    m.def(("block_scores" + INDEXER + "SymInt max_seq_len, " + block_size_argument() +
           ", str layout=\"PA_BNSD\", " + QUERY_LAYOUT + ") -> Tensor")
              .c_str());
    define(m, "sfaa",
           ATTENTION + block_size_argument() + ", str layout=\"PA_BNSD\", " + QUERY_LAYOUT +
               ", bool causal=True, bool return_lse=False",
           "(Tensor out, Tensor lse)", "Tensor(a!) out, Tensor(b!) lse", "(Tensor(a!), Tensor(b!))");
    define(m, "qsi_plan",
           "(Tensor seq_lens, *, " + LENGTHS + "int n_idx, int s_q=1, " + selection_arguments() + ", " +
               QUERY_LAYOUT + ", int num_cores=0",
           "Tensor", "Tensor(a!) plan", "Tensor(a!)");
    define(m, "sfaa_plan",
           "(Tensor seq_lens, *, " + LENGTHS + "int n_kv, int group, int s_q=1, bool shared_list=False, " +
               selection_arguments() + ", " + QUERY_LAYOUT + ", int num_cores=0",
           "Tensor", "Tensor(a!) plan", "Tensor(a!)");
    m.def(
        "project_query(Tensor query, Tensor projection, *, int n_idx, float scale) -> "
        "(Tensor packed, Tensor query_scale)");
    m.def(
        "write_cache(Tensor key, Tensor value, Tensor index_key, Tensor projection, Tensor slot_mapping, "
        "Tensor(a!) key_cache, Tensor(b!)? value_cache, Tensor(c!) index_cache, Tensor(d!) index_scale, "
        "Tensor(e!) key_scale, Tensor(f!) value_scale, *, str layout=\"PA_BNSD\", bool static_scales=False) "
        "-> ()");
}

}  // namespace sals::ops
