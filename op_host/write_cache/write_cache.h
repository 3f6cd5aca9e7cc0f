// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "register/op_def_registry.h"

namespace sals::host {

ge::graphStatus write_cache_tiling(gert::TilingContext* context);
ge::graphStatus write_cache_shapes(gert::InferShapeContext* context);
ge::graphStatus write_cache_types(gert::InferDataTypeContext* context);

}  // namespace sals::host
