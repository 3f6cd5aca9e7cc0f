// SPDX-License-Identifier: Apache-2.0
// selection.h - which blocks of a row are kept; the one rule for host, device, reference and docs.
// A row with L visible tokens has N = ceil(L/block_size) blocks. The first sink_blocks and the last
// tail_blocks are always kept, the n blocks between them are candidates, of which k are kept:
//     budget    k = min(ceil(n * keep_num / keep_den), max_blocks)
//     coverage  candidates in score order while (mass before it) * 2^20 < coverage_q * (mass of all)
// and in both modes min(min_blocks, n) <= k <= max_blocks. Higher score first, equal scores by lower id.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "sals/limits.h"
#include "sals/portability.h"

namespace sals {

enum class SelectionOrder : int32_t { INDEX = 0, SCORE = 1 };  // INDEX: ids ascending

inline constexpr int64_t COVERAGE_ONE = int64_t{1} << 20;       // coverage 1.0 as coverage_q
inline constexpr int32_t COVERAGE_MASS_ONE = int32_t{1} << 23;  // mass of the best candidate

struct SelectionParams {
    int64_t block_size = DEFAULT_BLOCK_SIZE;
    int64_t keep_num = 1;
    int64_t keep_den = 4;
    int64_t min_blocks = 0;
    int64_t max_blocks = DEFAULT_MAX_BLOCKS;
    int64_t coverage_q = 0;  // 0: budget mode
    int64_t sink_blocks = DEFAULT_SINK_BLOCKS;
    int64_t tail_blocks = DEFAULT_TAIL_BLOCKS;
};

struct BlockRange {
    int64_t begin;
    int64_t end;
};

// Smaller and larger of two integers. A template so that symbolic integers can bring their own.
template <class Int>
struct Extrema {
    static SALS_HD Int smaller(const Int& a, const Int& b) { return a < b ? a : b; }
    static SALS_HD Int larger(const Int& a, const Int& b) { return a > b ? a : b; }
};

template <class Int>
SALS_HD Int smaller(const Int& a, const Int& b) {
    return Extrema<Int>::smaller(a, b);
}

template <class Int>
SALS_HD Int larger(const Int& a, const Int& b) {
    return Extrema<Int>::larger(a, b);
}

// Tokens that query token s of q_len sees, of a request whose newest token is the seq_len-th.
SALS_HD int64_t visible_tokens(int64_t seq_len, int64_t q_len, int64_t s) {
    return s < q_len ? larger(seq_len - q_len + 1 + s, int64_t{0}) : 0;
}

template <class Int>
SALS_HD Int num_blocks(const Int& visible, int64_t block_size) {
    return ceil_div(larger(visible, Int(0)), Int(block_size));
}

// Blocks that compete by score: [sink_blocks, N - tail_blocks), empty in short rows.
SALS_HD BlockRange candidate_blocks(int64_t visible, const SelectionParams& p) {
    const int64_t blocks = num_blocks(visible, p.block_size);
    const int64_t begin = smaller(p.sink_blocks, blocks);
    return {begin, larger(blocks - p.tail_blocks, begin)};
}

template <class Int>
SALS_HD Int clamp_budget(const Int& k, const Int& n, const SelectionParams& p) {
    return smaller(larger(k, smaller(Int(p.min_blocks), n)), Int(p.max_blocks));
}

// k of budget mode for n candidates.
template <class Int>
SALS_HD Int budget_blocks(const Int& n, const SelectionParams& p) {
    return clamp_budget(ceil_div(n * Int(p.keep_num), Int(p.keep_den)), n, p);
}

// The largest k any row with n candidates can have, known without its scores.
template <class Int>
SALS_HD Int max_selected_candidates(const Int& n, const SelectionParams& p) {
    return p.coverage_q > 0 ? smaller(n, Int(p.max_blocks)) : budget_blocks(n, p);
}

// Columns of block_ids; depends on integers only, so shapes are static under graph capture.
template <class Int>
SALS_HD Int list_width(const Int& max_seq_len, const SelectionParams& p) {
    const Int blocks = num_blocks(max_seq_len, p.block_size);
    const Int n = larger(blocks - Int(p.sink_blocks) - Int(p.tail_blocks), Int(0));
    return smaller(Int(p.sink_blocks) + max_selected_candidates(n, p) + Int(p.tail_blocks), blocks);
}

// Blocks listed for a row whose k candidates are kept.
SALS_HD int64_t selected_blocks(int64_t visible, int64_t k, const SelectionParams& p) {
    const BlockRange c = candidate_blocks(visible, p);
    return num_blocks(visible, p.block_size) - (c.end - c.begin) + k;
}

// Tokens in those blocks: only the row's last block can be partial, and it is always kept.
SALS_HD int64_t selected_tokens(int64_t visible, int64_t k, const SelectionParams& p) {
    if (visible <= 0) return 0;
    const int64_t missing = num_blocks(visible, p.block_size) * p.block_size - visible;
    return selected_blocks(visible, k, p) * p.block_size - missing;
}

// Host only: device code has no double.
inline int64_t quantize_coverage(double coverage) {
    return static_cast<int64_t>(std::rint(coverage * static_cast<double>(COVERAGE_ONE)));
}

// Unsigned key with the order of scores: NaN counts as -inf, -0.0 equals +0.0.
SALS_HD uint32_t order_key(float score) {
    uint32_t bits = 0;
    std::memcpy(&bits, &score, sizeof(bits));
    const uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) bits = 0xFF800000U;  // NaN -> -inf
    if (magnitude == 0) bits = 0;
    return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

}  // namespace sals
