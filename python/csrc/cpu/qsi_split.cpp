// SPDX-License-Identifier: Apache-2.0
#include "cpu/qsi_split.h"

#include <numeric>

namespace sals::cpu {
namespace {

// Tiles of a row of this token; one at least, so that rows without candidates are divided too.
int64_t row_tiles(const TokenRow& token, const SelectionParams& selection) {
    const BlockRange candidates = candidate_blocks(token.visible(), selection);
    const int64_t tokens = (candidates.end - candidates.begin) * selection.block_size;
    return larger(ceil_div(tokens, QSI_TILE_TOKENS), int64_t{1});
}

}  // namespace

Plan split_rows(const QsiProblem& problem, const std::vector<TokenRow>& tokens, int64_t cores) {
    Plan plan = {};
    plan.num_cores = static_cast<int32_t>(smaller(larger(cores, int64_t{1}), MAX_CORES));
    plan.num_rows = static_cast<int32_t>(problem.rows());
    const int64_t total =
        problem.n_idx *
        std::accumulate(tokens.begin(), tokens.end(), int64_t{0}, [&](int64_t sum, const TokenRow& token) {
            return sum + row_tiles(token, problem.selection);
        });
    int64_t before = 0;  // tiles of earlier rows
    int32_t core = 1;
    for (int64_t row = 0; row < problem.rows(); ++row) {
        const int64_t tiles = row_tiles(tokens[row / problem.n_idx], problem.selection);
        for (; core < plan.num_cores; ++core) {
            const int64_t boundary = total * core / plan.num_cores;
            if (boundary >= before + tiles) break;
            plan.row_begin[core] = static_cast<int32_t>(row);
            plan.tile_begin[core] = static_cast<int32_t>(boundary - before);
        }
        before += tiles;
    }
    plan.row_begin[plan.num_cores] = plan.num_rows;
    return plan;
}

}  // namespace sals::cpu
