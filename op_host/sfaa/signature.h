// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common/signature.h"
#include "sals/limits.h"

namespace sals::host {

inline constexpr std::array<Port, 12> SFAA_INPUTS = {
    required("query", HALVES),
    cache("key_cache", always(DType::INT8)),
    optional_cache("value_cache", always(DType::INT8)),
    cache("key_scale", always(DType::FLOAT32)),
    cache("value_scale", always(DType::FLOAT32)),
    required("block_ids", always(DType::INT32)),
    required("selected_lens", always(DType::INT32)),
    required("seq_lens", always(DType::INT32)),
    optional("query_lens", always(DType::INT32)),
    optional("query_start_loc", always(DType::INT32)),
    optional("block_table", always(DType::INT32)),
    optional("plan", always(DType::INT32)),
};

inline constexpr std::array<Attribute, 6> SFAA_ATTRIBUTES = {
    required("scale", Kind::REAL), integer("block_size", DEFAULT_BLOCK_SIZE),
    text("layout", "PA_BNSD"),     text("query_layout", "BSND"),
    flag("causal", true),          flag("return_lse", false),
};

inline constexpr std::array<Port, 2> SFAA_OUTPUTS = {
    required("out", HALVES),
    required("lse", always(DType::FLOAT32)),  // of shape [0] without return_lse
};

inline constexpr Signature SFAA = {"sals::sfaa", HALVES.count, SFAA_INPUTS, SFAA_ATTRIBUTES, SFAA_OUTPUTS};

}  // namespace sals::host
