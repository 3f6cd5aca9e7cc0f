// SPDX-License-Identifier: Apache-2.0
// qsi.cpp - from the arguments of sals::qsi, as NumPy arrays, to the launch of its kernel.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>

#include "sals/qsi_launch.h"
#include "sals/workspace.h"
#include "sim/arrays.h"
#include "sim/export.h"

namespace py = pybind11;

namespace sals::simpy {
namespace {

constexpr const char* OP = "sals::qsi";

SelectionArgs read_selection(const py::dict& options) {
    SelectionArgs s;
    s.max_seq_len = option<int64_t>(options, "max_seq_len");
    s.block_size = option<int64_t>(options, "block_size");
    s.keep_num = option<int64_t>(options, "keep_num");
    s.keep_den = option<int64_t>(options, "keep_den");
    s.min_blocks = option<int64_t>(options, "min_blocks");
    s.max_blocks = option<int64_t>(options, "max_blocks");
    s.coverage = option<double>(options, "coverage");
    s.sink_blocks = option<int64_t>(options, "sink_blocks");
    s.tail_blocks = option<int64_t>(options, "tail_blocks");
    s.order = option<std::string>(options, "order");
    return s;
}

QsiArgs read_qsi(const py::dict& arrays, const py::dict& options) {
    QsiArgs q;
    q.query = spec_of("query", arrays);
    q.query_scale = spec_of("query_scale", arrays);
    q.key_cache = spec_of("key_cache", arrays);
    q.key_scale = spec_of("key_scale", arrays);
    q.block_table = spec_of("block_table", arrays);
    q.request.seq_lens = spec_of("seq_lens", arrays);
    q.request.query_lens = spec_of("query_lens", arrays);
    q.request.query_start_loc = spec_of("query_start_loc", arrays);
    q.request.plan = spec_of("plan", arrays);
    q.request.query_layout = option<std::string>(options, "query_layout");
    q.selection = read_selection(options);
    q.layout = option<std::string>(options, "layout");
    return q;
}

py::dict prepare_qsi(const py::dict& arrays, const py::dict& options, int64_t num_cores) {
    QsiProblem problem;
    raise_unless_ok(validate(OP, read_qsi(arrays, options), problem));
    raise_unless_ok(check_on_device(OP, problem));
    const QsiTiling tiling = make_qsi_tiling(problem, num_cores);
    py::dict call;
    call["tiling"] = words_of(tiling);
    call["workspace_bytes"] = qsi_workspace_bytes(tiling);
    call["batch_schedule"] = tiling.uses_sync_all != 0;
    call["block_ids_shape"] = py::tuple(py::cast(query_shape(problem.axis, {problem.n_idx, problem.width})));
    call["selected_lens_shape"] = py::tuple(py::cast(query_shape(problem.axis, {problem.n_idx})));
    call["n_idx"] = problem.n_idx;
    call["rank"] = problem.rank;
    call["s_q"] = problem.axis.s_q;
    call["page_size"] = problem.cache.page_size;
    return call;
}

}  // namespace

void export_qsi(py::module_& module) {
    module.def("prepare_qsi", prepare_qsi, py::arg("arrays"), py::arg("options"), py::arg("num_cores"),
               "Check the arguments of sals::qsi; return the tiling, the workspace and the results' shapes.");
}

}  // namespace sals::simpy
