// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "register/op_def_registry.h"

namespace sals::host {

ge::graphStatus qsi_tiling(gert::TilingContext* context);
ge::graphStatus qsi_shapes(gert::InferShapeContext* context);
ge::graphStatus qsi_types(gert::InferDataTypeContext* context);

}  // namespace sals::host
