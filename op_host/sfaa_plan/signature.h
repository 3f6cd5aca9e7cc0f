// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common/plan_ports.h"

namespace sals::host {

inline constexpr std::array<Attribute, 15> SFAA_PLAN_ATTRIBUTES =
    join(join(std::array{required("n_kv", Kind::INTEGER), required("group", Kind::INTEGER), integer("s_q", 1),
                         flag("shared_list", false)},
              SELECTION_ATTRIBUTES),
         PLAN_LAST_ATTRIBUTES);

inline constexpr Signature SFAA_PLAN = {"sals::sfaa_plan", 1, PLAN_INPUTS, SFAA_PLAN_ATTRIBUTES,
                                        PLAN_OUTPUTS};

}  // namespace sals::host
