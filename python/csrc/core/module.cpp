// SPDX-License-Identifier: Apache-2.0
// module.cpp - sals._core: the contract (include/sals) and the planner for Python, without torch.
#include "core/export.h"

PYBIND11_MODULE(_core, module) {
    module.doc() = "The contract's constants and rules, and the load-balancing planner.";
    sals::core::export_constants(module);
    sals::core::export_selection(module);
    sals::core::export_layout(module);
    sals::core::export_plan(module);
}
