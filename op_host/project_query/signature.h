// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common/signature.h"

namespace sals::host {

inline constexpr std::array<Port, 2> PROJECT_QUERY_INPUTS = {
    required("query", FLOATS),
    required("projection", always(DType::FLOAT32)),
};

inline constexpr std::array<Attribute, 2> PROJECT_QUERY_ATTRIBUTES = {
    required("n_idx", Kind::INTEGER),
    required("scale", Kind::REAL),
};

inline constexpr std::array<Port, 2> PROJECT_QUERY_OUTPUTS = {
    required("packed", always(DType::INT32)),
    required("query_scale", always(DType::FLOAT32)),
};

inline constexpr Signature PROJECT_QUERY = {"sals::project_query", FLOATS.count, PROJECT_QUERY_INPUTS,
                                            PROJECT_QUERY_ATTRIBUTES, PROJECT_QUERY_OUTPUTS};

}  // namespace sals::host
