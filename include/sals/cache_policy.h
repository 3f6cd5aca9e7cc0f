// SPDX-License-Identifier: Apache-2.0
// cache_policy.h - how the kernels around the caches (project_query, write_cache) cut their work. Both run on
// vector cores only.
#pragma once
#include <cstdint>

namespace sals {

enum class VectorDType : int32_t { FLOAT16 = 0, BFLOAT16 = 1, FLOAT32 = 2 };  // of queries, keys and values

// A strip is one head of this many consecutive tokens. A vector core handles it at once.
inline constexpr int32_t STRIP_TOKENS = 16;
inline constexpr int32_t SLOT_CHUNK = 4096;  // of slot_mapping that is searched at a time

}  // namespace sals
