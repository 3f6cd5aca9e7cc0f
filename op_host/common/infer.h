// SPDX-License-Identifier: Apache-2.0
// infer.h - shapes and types of results, for graphs. Sizes that a graph does not know are negative.
#pragma once
#include "common/tiling_call.h"

namespace sals::host {

// Sizes of an input up to its last `without` axes; none if it is left out. Where the graph does not even know
// their number, sizes may still be appended: set_sizes() makes it an output of unknown rank.
std::vector<int64_t> leading_sizes(const gert::InferShapeContext& context, const Signature& signature,
                                   const char* input, size_t without);

ge::graphStatus set_sizes(gert::InferShapeContext& context, size_t output, std::vector<int64_t> sizes);

// Each output has its one type, or the type of the first input where it follows the variant.
ge::graphStatus infer_types(gert::InferDataTypeContext& context, const Signature& signature);

}  // namespace sals::host
