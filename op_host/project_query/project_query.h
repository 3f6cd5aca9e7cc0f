// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "register/op_def_registry.h"

namespace sals::host {

ge::graphStatus project_query_tiling(gert::TilingContext* context);
ge::graphStatus project_query_shapes(gert::InferShapeContext* context);
ge::graphStatus project_query_types(gert::InferDataTypeContext* context);

}  // namespace sals::host
