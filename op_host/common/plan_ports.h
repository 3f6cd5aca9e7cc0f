// SPDX-License-Identifier: Apache-2.0
// plan_ports.h - what both plan operators take and give.
#pragma once
#include "common/selection_attributes.h"

namespace sals::host {

inline constexpr std::array<Port, 3> PLAN_INPUTS = {
    required("seq_lens", always(DType::INT32)),
    optional("query_lens", always(DType::INT32)),
    optional("query_start_loc", always(DType::INT32)),
};

inline constexpr std::array<Attribute, 2> PLAN_LAST_ATTRIBUTES = {text("query_layout", "BSND"),
                                                                  integer("num_cores", 0)};

inline constexpr std::array<Port, 1> PLAN_OUTPUTS = {required("plan", always(DType::INT32))};

}  // namespace sals::host
