// SPDX-License-Identifier: Apache-2.0
// signature.h - caches are inputs and outputs of the same name, which is how CANN marks a tensor that is
// written in place: the aclnn function takes it once, at the place of the input, and the kernel gets its
// address twice. Not so value_cache, which PA_KV leaves out: CANN's generator repeats the parameter of an
// optional one. The kernel writes it through its address as an input.
#pragma once
#include "common/signature.h"

namespace sals::host {

inline constexpr std::array<Port, 5> WRITTEN_CACHES = {
    cache("key_cache", always(DType::INT8)),      cache("index_cache", always(DType::INT32)),
    cache("index_scale", always(DType::FLOAT32)), cache("key_scale", always(DType::FLOAT32)),
    cache("value_scale", always(DType::FLOAT32)),
};

inline constexpr std::array<Port, 11> WRITE_CACHE_INPUTS = {
    required("key", FLOATS),
    required("value", FLOATS),
    required("index_key", FLOATS),
    required("projection", always(DType::FLOAT32)),
    required("slot_mapping", always(DType::INT32)),
    WRITTEN_CACHES[0],
    optional_cache("value_cache", always(DType::INT8)),
    WRITTEN_CACHES[1],
    WRITTEN_CACHES[2],
    WRITTEN_CACHES[3],
    WRITTEN_CACHES[4],
};

inline constexpr std::array<Attribute, 2> WRITE_CACHE_ATTRIBUTES = {
    text("layout", "PA_BNSD"),
    flag("static_scales", false),
};

inline constexpr Signature WRITE_CACHE = {"sals::write_cache", FLOATS.count, WRITE_CACHE_INPUTS,
                                          WRITE_CACHE_ATTRIBUTES, WRITTEN_CACHES};

}  // namespace sals::host
