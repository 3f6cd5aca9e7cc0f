// SPDX-License-Identifier: Apache-2.0
// score_task.h - what the kernels need to know to score one row: one query token, one index head.
#pragma once
#include "cpu/qsi.h"
#include "cpu/qsi_kernels.h"

namespace sals::cpu {

// `token` is the row in the query tensors, `row` tells whose it is. The row must see at least one token.
ScoreTask score_task(const QsiProblem& problem, const QsiTensors& tensors, const TokenRow& row, int64_t token,
                     int64_t head);

}  // namespace sals::cpu
