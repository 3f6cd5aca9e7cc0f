// SPDX-License-Identifier: Apache-2.0
// cache.cpp - from the arguments of sals::project_query and sals::write_cache, as NumPy arrays, to the
// launches of their kernels.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <string>

#include "sals/project_query_launch.h"
#include "sals/read_calls.h"
#include "sals/write_cache_launch.h"
#include "sim/arrays.h"
#include "sim/export.h"

namespace py = pybind11;

namespace sals::simpy {
namespace {

py::dict prepare_project_query(const py::dict& arrays, const py::dict& options) {
    constexpr const char* OP = "sals::project_query";
    const ProjectQueryArgs a = read_project_query(NumpyCall(arrays, options));
    ProjectQueryProblem problem;
    raise_unless_ok(validate(OP, a, problem));
    raise_unless_ok(check_on_device(OP, problem));
    std::vector<int64_t> shape(a.query.shape.begin(), a.query.shape.end() - 2);
    shape.push_back(problem.n_idx);
    py::dict call;
    call["tiling"] = words_of(make_project_query_tiling(problem, a.query.dtype, a.scale));
    call["query_scale_shape"] = py::tuple(py::cast(shape));
    shape.push_back(problem.rank / RANK_MULTIPLE);
    call["packed_shape"] = py::tuple(py::cast(shape));
    return call;
}

py::dict prepare_write_cache(const py::dict& arrays, const py::dict& options) {
    constexpr const char* OP = "sals::write_cache";
    const WriteCacheArgs a = read_write_cache(NumpyCall(arrays, options));
    WriteCacheProblem problem;
    raise_unless_ok(validate(OP, a, problem));
    raise_unless_ok(check_on_device(OP, problem));
    py::dict call;
    call["tiling"] = words_of(make_write_cache_tiling(problem, a.key.dtype));
    return call;
}

}  // namespace

void export_cache(py::module_& module) {
    module.def("prepare_project_query", prepare_project_query, py::arg("arrays"), py::arg("options"),
               "Check the arguments of sals::project_query; return the tiling and the results' shapes.");
    module.def("prepare_write_cache", prepare_write_cache, py::arg("arrays"), py::arg("options"),
               "Check the arguments of sals::write_cache; return the tiling.");
}

}  // namespace sals::simpy
