// SPDX-License-Identifier: Apache-2.0
// selection.cpp - the selection rule for Python. Counts may be NumPy arrays.
#include <pybind11/numpy.h>

#include "core/export.h"
#include "sals/selection.h"

namespace py = pybind11;

namespace sals::core {
namespace {

void export_params(py::module_& module) {
    py::class_<SelectionParams>(module, "SelectionParams")
        .def(py::init([](int64_t block_size, int64_t keep_num, int64_t keep_den, int64_t min_blocks,
                         int64_t max_blocks, int64_t coverage_q, int64_t sink_blocks, int64_t tail_blocks) {
                 return SelectionParams{block_size, keep_num,   keep_den,    min_blocks,
                                        max_blocks, coverage_q, sink_blocks, tail_blocks};
             }),
             py::kw_only(), py::arg("block_size") = DEFAULT_BLOCK_SIZE, py::arg("keep_num") = 1,
             py::arg("keep_den") = 4, py::arg("min_blocks") = 0, py::arg("max_blocks") = DEFAULT_MAX_BLOCKS,
             py::arg("coverage_q") = 0, py::arg("sink_blocks") = DEFAULT_SINK_BLOCKS,
             py::arg("tail_blocks") = DEFAULT_TAIL_BLOCKS)
        .def_readonly("block_size", &SelectionParams::block_size)
        .def_readonly("keep_num", &SelectionParams::keep_num)
        .def_readonly("keep_den", &SelectionParams::keep_den)
        .def_readonly("min_blocks", &SelectionParams::min_blocks)
        .def_readonly("max_blocks", &SelectionParams::max_blocks)
        .def_readonly("coverage_q", &SelectionParams::coverage_q)
        .def_readonly("sink_blocks", &SelectionParams::sink_blocks)
        .def_readonly("tail_blocks", &SelectionParams::tail_blocks);
}

// A params argument is a non-const reference because py::vectorize would take a const one for an array.
void export_counts(py::module_& module) {
    module.def("num_blocks",
               py::vectorize([](int64_t visible, int64_t size) { return num_blocks(visible, size); }),
               py::arg("visible"), py::arg("block_size"));
    module.def(
        "candidate_blocks",
        [](int64_t visible, const SelectionParams& params) {
            const BlockRange range = candidate_blocks(visible, params);
            return py::make_tuple(range.begin, range.end);
        },
        py::arg("visible"), py::arg("params"));
    module.def("budget_blocks",
               py::vectorize([](int64_t n, SelectionParams& p) { return budget_blocks(n, p); }),
               py::arg("num_candidates"), py::arg("params"));
    module.def("max_selected_candidates",
               py::vectorize([](int64_t n, SelectionParams& p) { return max_selected_candidates(n, p); }),
               py::arg("num_candidates"), py::arg("params"));
    module.def("list_width",
               py::vectorize([](int64_t len, SelectionParams& p) { return list_width(len, p); }),
               py::arg("max_seq_len"), py::arg("params"));
    module.def("selected_blocks", py::vectorize([](int64_t visible, int64_t k, SelectionParams& p) {
                   return selected_blocks(visible, k, p);
               }),
               py::arg("visible"), py::arg("k"), py::arg("params"));
    module.def("selected_tokens", py::vectorize([](int64_t visible, int64_t k, SelectionParams& p) {
                   return selected_tokens(visible, k, p);
               }),
               py::arg("visible"), py::arg("k"), py::arg("params"));
}

}  // namespace

void export_selection(py::module_& module) {
    export_params(module);
    export_counts(module);
    module.def("visible_tokens", py::vectorize(visible_tokens), py::arg("seq_len"), py::arg("q_len"),
               py::arg("s"));
    module.def("quantize_coverage", py::vectorize(quantize_coverage), py::arg("coverage"));
    module.def("order_key", py::vectorize(order_key), py::arg("score"));
}

}  // namespace sals::core
