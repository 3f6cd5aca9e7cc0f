// SPDX-License-Identifier: Apache-2.0
// sfaa_rows.h - list rows: which query rows share a list, and where the tokens of its tiles lie in memory.
#pragma once
#include <cstdint>
#include <vector>

#include "cpu/sfaa.h"
#include "cpu/sfaa_kernels.h"

namespace sals::cpu {

// One block list and the query rows that attend to it: `tokens` consecutive query tokens times the group.
struct ListRow {
    const int32_t* block_ids;  // [width]
    int64_t head;              // KV head
    int64_t request;
    int64_t first_token;  // row of the query
    int64_t tokens;
};

class SfaaRows {
public:
    SfaaRows(const SfaaProblem& problem, const SfaaTensors& tensors);

    ListRow list_row(int64_t row) const;

    // Positions below this are seen by the query token.
    int64_t visible(int64_t token) const { return visible_[token]; }

    int64_t list_tokens(int64_t row) const;  // by selected_lens, for balance

    int64_t tiles() const { return ceil_div(problem_.width * problem_.block_size, SFAA_TILE_TOKENS); }

    // Tokens below `visible` of tiles [begin, end), at most a step; scales are read if they are per token.
    void read_tiles(const ListRow& row, int64_t begin, int64_t end, int64_t visible,
                    StepTokens& tokens) const;

private:
    struct Run;
    Run find_run(const ListRow& row, int64_t position) const;
    static void append(const Run& run, int64_t count, StepTokens& tokens);
    void append_stretches(const int8_t* rows, int64_t token_stride, int64_t count, StepTokens& tokens) const;
    void append_scales(const ListRow& row, const Run& run, int64_t count, StepTokens& tokens) const;

    const SfaaProblem& problem_;
    const SfaaTensors& tensors_;
    int64_t run_tokens_;            // slots of a tile that lie together in memory
    std::vector<int64_t> visible_;  // [tokens]
    std::vector<int64_t> request_;
};

}  // namespace sals::cpu
