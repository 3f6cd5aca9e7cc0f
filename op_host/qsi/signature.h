// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common/selection_attributes.h"

namespace sals::host {

inline constexpr std::array<Port, 9> QSI_INPUTS = {
    required("query", always(DType::INT32)),
    required("query_scale", always(DType::FLOAT32)),
    cache("key_cache", always(DType::INT32)),
    cache("key_scale", always(DType::FLOAT32)),
    required("seq_lens", always(DType::INT32)),
    optional("query_lens", always(DType::INT32)),
    optional("query_start_loc", always(DType::INT32)),
    optional("block_table", always(DType::INT32)),
    optional("plan", always(DType::INT32)),
};

inline constexpr std::array<Attribute, 12> QSI_ATTRIBUTES =
    join(SELECTION_ATTRIBUTES,
         std::array{text("layout", "PA_BNSD"), text("query_layout", "BSND"), text("order", "index")});

inline constexpr std::array<Port, 2> QSI_OUTPUTS = {
    required("block_ids", always(DType::INT32)),
    required("selected_lens", always(DType::INT32)),
};

inline constexpr Signature QSI = {"sals::qsi", 1, QSI_INPUTS, QSI_ATTRIBUTES, QSI_OUTPUTS};

}  // namespace sals::host
