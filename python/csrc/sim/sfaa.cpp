// SPDX-License-Identifier: Apache-2.0
// sfaa.cpp - from the arguments of sals::sfaa, as NumPy arrays, to the launch of its kernel.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>

#include "sals/sfaa_launch.h"
#include "sals/workspace.h"
#include "sim/arrays.h"
#include "sim/export.h"

namespace py = pybind11;

namespace sals::simpy {
namespace {

constexpr const char* OP = "sals::sfaa";

SfaaArgs read_sfaa(const py::dict& arrays, const py::dict& options) {
    SfaaArgs s;
    s.query = spec_of("query", arrays);
    s.key_cache = spec_of("key_cache", arrays);
    s.value_cache = spec_of("value_cache", arrays);
    s.key_scale = spec_of("key_scale", arrays);
    s.value_scale = spec_of("value_scale", arrays);
    s.block_ids = spec_of("block_ids", arrays);
    s.selected_lens = spec_of("selected_lens", arrays);
    s.block_table = spec_of("block_table", arrays);
    s.request.seq_lens = spec_of("seq_lens", arrays);
    s.request.query_lens = spec_of("query_lens", arrays);
    s.request.query_start_loc = spec_of("query_start_loc", arrays);
    s.request.plan = spec_of("plan", arrays);
    s.request.query_layout = option<std::string>(options, "query_layout");
    s.scale = option<double>(options, "scale");
    s.block_size = option<int64_t>(options, "block_size");
    s.layout = option<std::string>(options, "layout");
    return s;
}

py::dict prepare_sfaa(const py::dict& arrays, const py::dict& options, int64_t num_cores) {
    const SfaaArgs args = read_sfaa(arrays, options);
    SfaaProblem problem;
    raise_unless_ok(validate(OP, args, problem));
    raise_unless_ok(check_on_device(OP, problem, args.query.dtype));
    SfaaLaunch launch;
    launch.dtype = args.query.dtype;
    launch.scale = args.scale;
    launch.causal = option<bool>(options, "causal");
    launch.return_lse = option<bool>(options, "return_lse");
    launch.num_cores = num_cores;
    if (options.contains("joins_runs")) launch.gather.joins_runs = option<bool>(options, "joins_runs");
    if (options.contains("joins_pairs")) launch.gather.joins_pairs = option<bool>(options, "joins_pairs");
    const SfaaTiling tiling = make_sfaa_tiling(problem, launch);
    py::dict call;
    call["tiling"] = words_of(tiling);
    call["workspace_bytes"] = sfaa_workspace_bytes(tiling);
    call["batch_schedule"] = tiling.uses_sync_all != 0;
    call["lse_shape"] = py::tuple(py::cast(query_shape(problem.axis, {problem.n_q})));
    return call;
}

}  // namespace

void export_sfaa(py::module_& module) {
    module.def("prepare_sfaa", prepare_sfaa, py::arg("arrays"), py::arg("options"), py::arg("num_cores"),
               "Check the arguments of sals::sfaa; return the tiling, the workspace and the LSE's shape.");
}

}  // namespace sals::simpy
