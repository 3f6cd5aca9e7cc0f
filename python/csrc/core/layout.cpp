// SPDX-License-Identifier: Apache-2.0
// layout.cpp - cache addresses and int4 packing for Python. Positions may be NumPy arrays.
#include <pybind11/numpy.h>

#include <string>

#include "core/export.h"
#include "sals/int4_pack.h"
#include "sals/limits.h"
#include "sals/names.h"

namespace py = pybind11;

namespace sals::core {
namespace {

KvLayout layout_named(const std::string& name) {
    const std::optional<KvLayout> layout = value_named(KV_LAYOUTS, name);
    if (!layout) {
        throw py::value_error("sals: layout must be one of " + names_in(KV_LAYOUTS) + ", got " + name);
    }
    return *layout;
}

void export_cache_shape(py::module_& module) {
    py::class_<CacheShape>(module, "CacheShape")
        .def(py::init([](const std::string& layout, int64_t num_pages, int64_t heads, int64_t page_size,
                         int64_t row_bytes) {
                 return CacheShape{layout_named(layout), num_pages, heads, page_size, row_bytes};
             }),
             py::arg("layout"), py::kw_only(), py::arg("num_pages"), py::arg("heads"), py::arg("page_size"),
             py::arg("row_bytes"));
}

}  // namespace

// A shape is a non-const reference because py::vectorize would take a const one for an array.
void export_layout(py::module_& module) {
    export_cache_shape(module);
    module.def("padded_head_dim", py::vectorize(padded_head_dim), py::arg("head_dim"));
    module.def("row_byte",
               py::vectorize(
                   [](CacheShape& shape, int64_t page, int64_t head, bool is_value, int64_t offset,
                      int64_t x) { return row_byte(row_geometry(shape, page, head, is_value), offset, x); }),
               py::arg("shape"), py::arg("page"), py::arg("head"), py::arg("is_value"), py::arg("offset"),
               py::arg("x"), "Byte x of the row of the token at `offset` in the page.");
    module.def("scale_offset",
               py::vectorize([](CacheShape& shape, int64_t page, int64_t head, int64_t offset) {
                   const ScaleGeometry geometry = scale_geometry(shape, page, head);
                   return geometry.base + offset * geometry.token_stride;
               }),
               py::arg("shape"), py::arg("page"), py::arg("head"), py::arg("offset"),
               "Element of the per-token scales for the token at `offset` in the page.");
    module.def("int4_get", py::vectorize(int4_get), py::arg("word"), py::arg("i"));
    module.def("int4_set", py::vectorize(int4_set), py::arg("word"), py::arg("i"), py::arg("value"));
}

}  // namespace sals::core
