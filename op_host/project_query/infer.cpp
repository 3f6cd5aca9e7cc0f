// SPDX-License-Identifier: Apache-2.0
#include "common/infer.h"
#include "project_query/project_query.h"
#include "project_query/signature.h"
#include "sals/limits.h"

namespace sals::host {

ge::graphStatus project_query_shapes(gert::InferShapeContext* context) {
    const gert::Shape* projection =
        context->GetOptionalInputShape(index_of(PROJECT_QUERY.inputs, "projection"));
    if (projection == nullptr || projection->GetDimNum() != 3) return ge::GRAPH_FAILED;
    const int64_t rank = projection->GetDim(2);
    std::vector<int64_t> sizes = leading_sizes(*context, PROJECT_QUERY, "query", 2);
    sizes.push_back(AttributeCall(PROJECT_QUERY, context->GetAttrs()).integer("n_idx"));
    const ge::graphStatus scale = set_sizes(*context, index_of(PROJECT_QUERY.outputs, "query_scale"), sizes);
    sizes.push_back(rank < 0 ? rank : rank / RANK_MULTIPLE);
    const ge::graphStatus packed = set_sizes(*context, index_of(PROJECT_QUERY.outputs, "packed"), sizes);
    return packed == ge::GRAPH_SUCCESS ? scale : packed;
}

ge::graphStatus project_query_types(gert::InferDataTypeContext* context) {
    return infer_types(*context, PROJECT_QUERY);
}

}  // namespace sals::host
