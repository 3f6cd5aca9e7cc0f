// SPDX-License-Identifier: Apache-2.0
// sfaa.cpp - from the arguments of sals::sfaa, as NumPy arrays, to the launch of its kernel.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>

#include "sals/read_calls.h"
#include "sals/sfaa_launch.h"
#include "sals/workspace.h"
#include "sim/arrays.h"
#include "sim/export.h"

namespace py = pybind11;

namespace sals::simpy {
namespace {

constexpr const char* OP = "sals::sfaa";

py::dict prepare_sfaa(const py::dict& arrays, const py::dict& options, int64_t num_cores) {
    const SfaaArgs args = read_sfaa(NumpyCall(arrays, options));
    SfaaProblem problem;
    raise_unless_ok(validate(OP, args, problem));
    raise_unless_ok(check_on_device(OP, problem, args.query.dtype));
    SfaaLaunch launch;
    launch.dtype = args.query.dtype;
    launch.scale = args.scale;
    launch.causal = option<bool>(options, "causal");
    launch.return_lse = option<bool>(options, "return_lse");
    launch.num_cores = num_cores;
    launch.gather.joins_runs = option_or(options, "joins_runs", launch.gather.joins_runs);
    launch.gather.joins_pairs = option_or(options, "joins_pairs", launch.gather.joins_pairs);
    launch.gather.touched_percent = option_or(options, "touched_percent", launch.gather.touched_percent);
    launch.preloads = option_or(options, "preloads", launch.preloads);
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
