// SPDX-License-Identifier: Apache-2.0
// qsi.cpp - from the arguments of sals::qsi, as NumPy arrays, to the launch of its kernel.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>

#include "sals/qsi_launch.h"
#include "sals/read_calls.h"
#include "sals/workspace.h"
#include "sim/arrays.h"
#include "sim/export.h"

namespace py = pybind11;

namespace sals::simpy {
namespace {

constexpr const char* OP = "sals::qsi";

py::dict prepare_qsi(const py::dict& arrays, const py::dict& options, int64_t num_cores) {
    QsiProblem problem;
    raise_unless_ok(validate(OP, read_qsi(NumpyCall(arrays, options)), problem));
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
