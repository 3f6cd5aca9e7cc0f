// SPDX-License-Identifier: Apache-2.0
#include "common/infer.h"

#include <algorithm>

namespace sals::host {
namespace {

constexpr int64_t UNKNOWN_RANK = -2;  // the only size of a shape whose number of axes is unknown

bool has_unknown_rank(const std::vector<int64_t>& sizes) {
    return std::find(sizes.begin(), sizes.end(), UNKNOWN_RANK) != sizes.end();
}

}  // namespace

std::vector<int64_t> leading_sizes(const gert::InferShapeContext& context, const Signature& signature,
                                   const char* input, size_t without) {
    const gert::Shape* shape = context.GetOptionalInputShape(index_of(signature.inputs, input));
    if (shape == nullptr) return {};
    std::vector<int64_t> sizes = sizes_of(*shape);
    if (!has_unknown_rank(sizes)) sizes.resize(sizes.size() - std::min(without, sizes.size()));
    return sizes;
}

ge::graphStatus set_sizes(gert::InferShapeContext& context, size_t output, std::vector<int64_t> sizes) {
    gert::Shape* shape = context.GetOutputShape(output);
    if (shape == nullptr) return ge::GRAPH_FAILED;
    if (has_unknown_rank(sizes)) sizes = {UNKNOWN_RANK};
    shape->SetDimNum(sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) shape->SetDim(i, sizes[i]);
    return ge::GRAPH_SUCCESS;
}

ge::graphStatus infer_types(gert::InferDataTypeContext& context, const Signature& signature) {
    for (size_t i = 0; i < signature.outputs.count; ++i) {
        const Types& types = signature.outputs.first[i].types;
        const ge::DataType type =
            types.count > 1 ? context.GetInputDataType(0) : ge_type_of(types.in_variant[0]);
        if (context.SetOutputDataType(i, type) != ge::GRAPH_SUCCESS) return ge::GRAPH_FAILED;
    }
    return ge::GRAPH_SUCCESS;
}

}  // namespace sals::host
