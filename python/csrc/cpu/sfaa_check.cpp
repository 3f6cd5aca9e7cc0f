// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "cpu/sfaa.h"

namespace sals::cpu {

Status check_block_ids(const char* op, const SfaaProblem& problem, const SfaaTensors& tensors) {
    Checker check(op);
    const int64_t s_list = problem.shared_list() ? 1 : problem.axis.s_q;
    const std::vector<TokenRow> lists = token_rows(problem.axis, tensors.request, s_list);
    const int64_t list_ids = problem.list_heads * problem.width;
    for (size_t row = 0; row < lists.size(); ++row) {
        const TokenRow& list = lists[row];
        if (list.s >= list.q_len) continue;  // not read
        const int64_t limit = num_blocks(list.seq_len, problem.block_size);
        const int32_t* ids = tensors.block_ids + static_cast<int64_t>(row) * list_ids;
        int32_t lowest = INVALID_BLOCK, highest = INVALID_BLOCK;
        for (int64_t i = 0; i < list_ids; ++i) {
            lowest = std::min(lowest, ids[i]);
            highest = std::max(highest, ids[i]);
        }
        if (lowest == INVALID_BLOCK && highest < limit) continue;
        check.fail("block_ids must be -1 or a block of its request: request " + std::to_string(list.request) +
                   " has blocks [0, " + std::to_string(limit) + "), got " +
                   std::to_string(lowest < INVALID_BLOCK ? lowest : highest) + " in list row " +
                   std::to_string(row));
        break;
    }
    return check.status();
}

}  // namespace sals::cpu
