// SPDX-License-Identifier: Apache-2.0
// qsi.cpp - from the arguments of sals::qsi, as NumPy arrays, to the launch of its kernel.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>
#include <string>

#include "sals/qsi_launch.h"
#include "sals/workspace.h"
#include "sim/export.h"

namespace py = pybind11;

namespace sals::simpy {
namespace {

constexpr const char* OP = "sals::qsi";

DType dtype_of(const py::array& array) {
    const py::dtype dtype = array.dtype();
    if (dtype.is(py::dtype::of<int32_t>())) return DType::INT32;
    if (dtype.is(py::dtype::of<float>())) return DType::FLOAT32;
    return DType::OTHER;
}

TensorSpec spec_of(const char* name, const py::dict& arrays) {
    TensorSpec spec;
    spec.name = name;
    const py::object value = arrays[name];
    spec.present = !value.is_none();
    if (!spec.present) return spec;
    const auto array = value.cast<py::array>();
    spec.dtype = dtype_of(array);
    spec.dtype_text = py::str(array.dtype()).cast<std::string>();
    spec.device = "cpu";
    spec.shape.assign(array.shape(), array.shape() + array.ndim());
    spec.contiguous = (array.flags() & py::array::c_style) != 0;
    return spec;
}

template <class T>
T option(const py::dict& options, const char* name) {
    return options[name].cast<T>();
}

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

void raise_unless_ok(const Status& status) {
    if (!status.ok()) throw py::value_error(status.text);
}

py::array_t<int32_t> words_of(const QsiTiling& tiling) {
    py::array_t<int32_t> words(QSI_TILING_WORDS);
    std::memcpy(words.mutable_data(), &tiling, sizeof(tiling));
    return words;
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
