// SPDX-License-Identifier: Apache-2.0
// export.h - the parts of the module sals._sim.
#pragma once
#include <pybind11/pybind11.h>

#include "engine/launch.h"

namespace sals::simpy {

void export_launch(pybind11::module_& module);
void export_cache(pybind11::module_& module);
void export_qsi(pybind11::module_& module);
void export_sfaa(pybind11::module_& module);

// Everything a launch says, as dicts, lists and arrays of Python.
pybind11::dict result_to_python(const sim::LaunchResult& result);

}  // namespace sals::simpy
