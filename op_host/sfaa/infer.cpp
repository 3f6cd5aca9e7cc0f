// SPDX-License-Identifier: Apache-2.0
#include "common/infer.h"
#include "sfaa/sfaa.h"
#include "sfaa/signature.h"

namespace sals::host {

ge::graphStatus sfaa_shapes(gert::InferShapeContext* context) {
    const bool returns_lse = AttributeCall(SFAA, context->GetAttrs()).flag("return_lse");
    const std::vector<int64_t> query = leading_sizes(*context, SFAA, "query", 0);
    const std::vector<int64_t> rows = leading_sizes(*context, SFAA, "query", 1);
    const ge::graphStatus out = set_sizes(*context, index_of(SFAA.outputs, "out"), query);
    const ge::graphStatus lse =
        set_sizes(*context, index_of(SFAA.outputs, "lse"), returns_lse ? rows : std::vector<int64_t>{0});
    return out == ge::GRAPH_SUCCESS ? lse : out;
}

ge::graphStatus sfaa_types(gert::InferDataTypeContext* context) { return infer_types(*context, SFAA); }

}  // namespace sals::host
