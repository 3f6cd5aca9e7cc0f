// SPDX-License-Identifier: Apache-2.0
// qsi.h - the indexer on a CPU: int4 scores of token blocks, and the exact choice among them.
#pragma once
#include <cstdint>

#include "cpu/workers.h"
#include "sals/plan.h"
#include "sals/qsi_problem.h"
#include "sals/request_rows.h"

namespace sals::cpu {

struct QsiTensors {
    const int32_t* query = nullptr;      // packed int4 [token_rows, n_idx, rank/8]
    const float* query_scale = nullptr;  // [token_rows, n_idx]
    const int32_t* key_cache = nullptr;  // packed int4, laid out as problem.cache says
    const float* key_scale = nullptr;
    RequestTensors request;
    const Plan* plan = nullptr;  // a checked plan, or null
};

// block_ids [rows, width], selected_lens [rows]; rows = token_rows * n_idx. Values must have been checked.
void qsi(const QsiProblem& problem, const QsiTensors& tensors, const Workers& workers, int32_t* block_ids,
         int32_t* selected_lens);

// scores [rows, ceil(max_seq_len / block_size)], -inf behind the last block of a row.
void block_scores(const QsiProblem& problem, const QsiTensors& tensors, const Workers& workers,
                  float* scores);

}  // namespace sals::cpu
