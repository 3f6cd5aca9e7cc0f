// SPDX-License-Identifier: Apache-2.0
// cache_ops.h - the operators around the caches on a CPU: project a query into the index, write new tokens.
#pragma once
#include <cstdint>

#include "cpu/sfaa.h"
#include "cpu/workers.h"
#include "sals/cache_problem.h"

namespace sals::cpu {

// packed [tokens, n_idx, rank/8], query_scale [tokens, n_idx].
void project_query(const ProjectQueryProblem& problem, const void* query, FloatType type,
                   const float* projection, float scale, const Workers& workers, int32_t* packed,
                   float* query_scale);

struct WriteCacheTensors {
    const void* key = nullptr;  // [tokens, n_kv, head_dim] of type, as value and index_key
    const void* value = nullptr;
    const void* index_key = nullptr;
    FloatType type = FloatType::FLOAT32;
    const float* projection = nullptr;      // [n_idx, in_dim, rank]
    const int32_t* slot_mapping = nullptr;  // [tokens]
    int8_t* key_cache = nullptr;
    int8_t* value_cache = nullptr;  // null with PA_KV
    int32_t* index_cache = nullptr;
    float* index_scale = nullptr;
    float* key_scale = nullptr;  // read with static scales, written otherwise
    float* value_scale = nullptr;
};

Status check_slots(const char* op, const WriteCacheProblem& problem, const int32_t* slot_mapping);

// Tokens of slot -1 are skipped; of two tokens with one slot the later wins.
void write_cache(const WriteCacheProblem& problem, const WriteCacheTensors& tensors, const Workers& workers);

}  // namespace sals::cpu
