// SPDX-License-Identifier: Apache-2.0
// sfaa.h - sparse attention over int8 keys and values on a CPU.
#pragma once
#include <cstdint>

#include "cpu/workers.h"
#include "sals/plan.h"
#include "sals/request_rows.h"
#include "sals/sfaa_problem.h"

namespace sals::cpu {

enum class FloatType : int32_t { FLOAT16, BFLOAT16, FLOAT32 };

struct SfaaTensors {
    const void* query = nullptr;  // [tokens, n_q, head_dim] of query_type
    FloatType query_type = FloatType::FLOAT32;
    const int8_t* key_cache = nullptr;
    const int8_t* value_cache = nullptr;  // null with PA_KV
    const float* key_scale = nullptr;
    const float* value_scale = nullptr;
    const int32_t* block_ids = nullptr;      // [list_tokens, list_heads, width]
    const int32_t* selected_lens = nullptr;  // [list_tokens, list_heads]; for balance only
    RequestTensors request;
    const Plan* plan = nullptr;  // a checked plan, or null
    float scale = 1.0F;
    bool causal = true;
};

// Every listed id must be INVALID_BLOCK or a block of its request.
Status check_block_ids(const char* op, const SfaaProblem& problem, const SfaaTensors& tensors);

// out [tokens, n_q, head_dim] of query_type; lse [tokens, n_q] or null.
void sfaa(const SfaaProblem& problem, const SfaaTensors& tensors, const Workers& workers, void* out,
          float* lse);

}  // namespace sals::cpu
