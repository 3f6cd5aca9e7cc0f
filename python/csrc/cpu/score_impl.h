// SPDX-License-Identifier: Apache-2.0
// score_impl.h - scores of token blocks, sixteen blocks at a time.
//     logit_j = float(dot_j) * (query_scale * key_scale_j)
//     score   = m + log(sum_j exp(logit_j - m)),  m = max_j logit_j,  j over the block's visible tokens
// The logits of sixteen blocks are turned so that lane b holds block b: maximum, sum and log then need no
// work across lanes, and a score has the same bits wherever its block stands among the sixteen.
#pragma once
#include "cpu/exp_log.h"
#include "cpu/qsi_kernels.h"
#include "cpu/score_dot.h"

namespace sals::cpu::SALS_TARGET {

inline constexpr int32_t MAX_BLOCK_TOKENS = 128;
inline constexpr int64_t PREFETCH_TOKENS = 256;  // how far ahead: the time of some memory accesses

// Walks the tokens of a request page by page.
class TokenCursor {
public:
    SALS_INLINE TokenCursor(const ScoreTask& task, int64_t token, int64_t end)
        : task_(task), page_(token / task.page_size), offset_(token % task.page_size), left_(end - token) {
        if (left_ > 0) enter_page();
    }

    SALS_INLINE const uint8_t* rows() const { return rows_ + offset_ * task_.token_step; }
    SALS_INLINE const float* scales() const { return scales_ + offset_ * task_.scale_token_step; }

    // Tokens here that stand in one page, at most `most`.
    SALS_INLINE int32_t run(int64_t most) const {
        int64_t tokens = task_.page_size - offset_;
        if (tokens > left_) tokens = left_;
        return static_cast<int32_t>(tokens < most ? tokens : most);
    }

    SALS_INLINE void skip(int32_t tokens) {
        left_ -= tokens;
        offset_ += tokens;
        if (offset_ < task_.page_size) return;
        ++page_;
        offset_ = 0;
        if (left_ > 0) enter_page();
    }

private:
    SALS_INLINE void enter_page() {
        const int64_t page = task_.pages != nullptr ? task_.pages[page_] : page_;
        rows_ = task_.rows + page * task_.page_step;
        scales_ = task_.scales + page * task_.scale_page_step;
    }

    const ScoreTask& task_;
    int64_t page_, offset_, left_;
    const uint8_t* rows_ = nullptr;
    const float* scales_ = nullptr;
};

// Fetches tokens into the second-level cache, some way ahead of their use. The first-level cache can wait for
// too few lines at a time to hide the latency of pages that lie anywhere in memory.
class Prefetcher {
public:
    SALS_INLINE Prefetcher(const ScoreTask& task, int64_t token, int64_t end)
        : task_(task), cursor_(task, token < end ? token : end, end) {
        const bool one_piece = task.plane_step == PLANE;  // a row, rather than each of its planes
        run_bytes_ = one_piece ? task.query.row_bytes : PLANE;
        runs_ = one_piece ? 1 : task.query.row_bytes / PLANE;
        adjacent_ = task.token_step == run_bytes_;
    }

    SALS_INLINE void fetch() {
        const int32_t tokens = cursor_.run(LANES);
        if (tokens == 0) return;
        const uint8_t* row = cursor_.rows();
        for (int32_t run = 0; run < runs_; ++run, row += task_.plane_step) {
            if (adjacent_) {
                fetch_bytes(row, tokens * run_bytes_);
                continue;
            }
            for (int32_t i = 0; i < tokens; ++i) fetch_bytes(row + i * task_.token_step, run_bytes_);
        }
        const int64_t scale_step = task_.scale_token_step > LINE / 4 ? task_.scale_token_step : LINE / 4;
        const int64_t scale_span = tokens * task_.scale_token_step;
        for (int64_t i = 0; i < scale_span; i += scale_step) fetch_line(cursor_.scales() + i);
        cursor_.skip(tokens);
    }

private:
    static constexpr int32_t LINE = 64;  // bytes

    SALS_INLINE static void fetch_line(const void* from) {
        constexpr int32_t SECOND_LEVEL = 2;
        __builtin_prefetch(from, 0, SECOND_LEVEL);
    }

    SALS_INLINE static void fetch_bytes(const uint8_t* from, int32_t bytes) {
        for (int32_t x = 0; x < bytes; x += LINE) fetch_line(from + x);
    }

    const ScoreTask& task_;
    TokenCursor cursor_;
    int32_t run_bytes_, runs_;
    bool adjacent_;
};

SALS_INLINE F32x16 key_scales(const float* scales, int64_t step, int32_t count) {
    if (step == 1 && count == LANES) return load(scales);
    float lane[LANES];
    for (int32_t i = 0; i < LANES; ++i) lane[i] = scales[(i < count ? i : count - 1) * step];
    return load(lane);
}

// Logits of `tokens` tokens in order; behind them up to LANES - 1 elements are overwritten.
template <int32_t FULL_PLANES>
SALS_INLINE void token_logits(const ScoreTask& task, TokenCursor& cursor, Prefetcher& ahead, int64_t tokens,
                              float* logits) {
    const F32x16 query_scale = broadcast(task.query_scale);
    for (int64_t i = 0; i < tokens;) {
        const int64_t left = tokens - i;
        const int32_t count = cursor.run(left < LANES ? left : LANES);
        ahead.fetch();
        const Rows rows = {cursor.rows(), task.token_step, task.plane_step, count - 1};
        const F32x16 dots = to_f32(int4_dots<FULL_PLANES>(task.query, rows));
        const F32x16 scales = key_scales(cursor.scales(), task.scale_token_step, count);
        store(logits + i, dots * (query_scale * scales));
        cursor.skip(count);
        i += count;
    }
}

// turned[j][b] = logits[b][j] for sixteen blocks b of block_size tokens j, in squares of four.
SALS_INLINE void turn(const float* logits, int64_t block_size, float* turned) {
    typedef float Quad __attribute__((vector_size(16)));
    typedef int32_t Pick __attribute__((vector_size(16)));
    for (int64_t j = 0; j < block_size; j += 4) {
        for (int64_t b = 0; b < LANES; b += 4) {
            Quad in[4];
            for (int32_t i = 0; i < 4; ++i)
                std::memcpy(&in[i], logits + (b + i) * block_size + j, sizeof(Quad));
            const Quad low01 = __builtin_shuffle(in[0], in[1], Pick{0, 4, 1, 5});
            const Quad high01 = __builtin_shuffle(in[0], in[1], Pick{2, 6, 3, 7});
            const Quad low23 = __builtin_shuffle(in[2], in[3], Pick{0, 4, 1, 5});
            const Quad high23 = __builtin_shuffle(in[2], in[3], Pick{2, 6, 3, 7});
            const Quad out[4] = {__builtin_shuffle(low01, low23, Pick{0, 1, 4, 5}),
                                 __builtin_shuffle(low01, low23, Pick{2, 3, 6, 7}),
                                 __builtin_shuffle(high01, high23, Pick{0, 1, 4, 5}),
                                 __builtin_shuffle(high01, high23, Pick{2, 3, 6, 7})};
            for (int32_t i = 0; i < 4; ++i) std::memcpy(turned + (j + i) * LANES + b, &out[i], sizeof(Quad));
        }
    }
}

// Log-sum-exp of sixteen blocks. Tokens that are not there have logit -inf and add 0.
SALS_INLINE F32x16 log_sum_exp(const float* turned, int64_t block_size) {
    F32x16 m = load(turned);
    for (int64_t j = 1; j < block_size; ++j) m = max(m, load(turned + j * LANES));
    F32x16 sums[4] = {broadcast(0.0F), broadcast(0.0F), broadcast(0.0F), broadcast(0.0F)};
    for (int64_t j = 0; j < block_size; j += 4) {
#pragma GCC unroll 4
        for (int32_t i = 0; i < 4; ++i) sums[i] = sums[i] + exp(load(turned + (j + i) * LANES) - m);
    }
    const F32x16 total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return select(equal(m, broadcast(-__builtin_inff())), m, m + log(total));
}

template <int32_t FULL_PLANES>
void score_rows(const ScoreTask& task, int64_t begin, int64_t end, float* scores) {
    alignas(64) float logits[LANES * MAX_BLOCK_TOKENS + LANES];
    alignas(64) float turned[LANES * MAX_BLOCK_TOKENS];
    const int64_t size = task.block_size;
    const int64_t end_token = end * size < task.visible ? end * size : task.visible;
    TokenCursor cursor(task, begin * size, end_token);
    Prefetcher ahead(task, begin * size + PREFETCH_TOKENS, end_token);
    for (int64_t block = begin; block < end; block += LANES) {
        const int64_t blocks = end - block < LANES ? end - block : LANES;
        const int64_t left = end_token - block * size;
        const int64_t tokens = left < LANES * size ? left : LANES * size;
        token_logits<FULL_PLANES>(task, cursor, ahead, tokens, logits);
        for (int64_t i = tokens; i < LANES * size; ++i) logits[i] = -__builtin_inff();
        turn(logits, size, turned);
        float lane[LANES];
        store(lane, log_sum_exp(turned, size));
        std::memcpy(scores + (block - begin), lane, static_cast<size_t>(blocks) * sizeof(float));
    }
}

inline void score_blocks(const ScoreTask& task, int64_t begin, int64_t end, float* scores) {
    switch (task.query.row_bytes) {
        case PLANE:
            return score_rows<1>(task, begin, end, scores);
        case 2 * PLANE:
            return score_rows<2>(task, begin, end, scores);
        default:
            return score_rows<0>(task, begin, end, scores);
    }
}

}  // namespace sals::cpu::SALS_TARGET
