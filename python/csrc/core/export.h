// SPDX-License-Identifier: Apache-2.0
// export.h - the parts of the module sals._core.
#pragma once
#include <pybind11/pybind11.h>

namespace sals::core {

void export_constants(pybind11::module_& module);
void export_selection(pybind11::module_& module);
void export_layout(pybind11::module_& module);
void export_plan(pybind11::module_& module);

}  // namespace sals::core
