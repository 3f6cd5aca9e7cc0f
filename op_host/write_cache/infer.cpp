// SPDX-License-Identifier: Apache-2.0
#include "common/infer.h"
#include "write_cache/signature.h"
#include "write_cache/write_cache.h"

namespace sals::host {

// Each output is the input of its name.
ge::graphStatus write_cache_shapes(gert::InferShapeContext* context) {
    for (size_t i = 0; i < WRITE_CACHE.outputs.count; ++i) {
        const std::vector<int64_t> sizes =
            leading_sizes(*context, WRITE_CACHE, WRITE_CACHE.outputs.first[i].name, 0);
        if (set_sizes(*context, i, sizes) != ge::GRAPH_SUCCESS) return ge::GRAPH_FAILED;
    }
    return ge::GRAPH_SUCCESS;
}

ge::graphStatus write_cache_types(gert::InferDataTypeContext* context) {
    return infer_types(*context, WRITE_CACHE);
}

}  // namespace sals::host
