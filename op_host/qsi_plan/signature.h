// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common/plan_ports.h"

namespace sals::host {

inline constexpr std::array<Attribute, 13> QSI_PLAN_ATTRIBUTES =
    join(join(std::array{required("n_idx", Kind::INTEGER), integer("s_q", 1)}, SELECTION_ATTRIBUTES),
         PLAN_LAST_ATTRIBUTES);

inline constexpr Signature QSI_PLAN = {"sals::qsi_plan", 1, PLAN_INPUTS, QSI_PLAN_ATTRIBUTES, PLAN_OUTPUTS};

}  // namespace sals::host
