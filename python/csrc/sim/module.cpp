// SPDX-License-Identifier: Apache-2.0
// module.cpp - sals._sim: runs kernel libraries on the simulator, without torch.
#include "sim/export.h"

PYBIND11_MODULE(_sim, module) {
    module.doc() = "Kernels compiled for the simulator, run on NumPy arrays.";
    sals::simpy::export_launch(module);
    sals::simpy::export_cache(module);
    sals::simpy::export_qsi(module);
    sals::simpy::export_sfaa(module);
}
