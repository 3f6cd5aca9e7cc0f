// SPDX-License-Identifier: Apache-2.0
// score.h - scores of blocks. A warp takes 128 tokens, aligned to 128: int4 dot products, logits into shared
// memory, then four lanes for each block reduce them in the order of the CPU backend:
//     logit_j = float(dot_j) * (query_scale * key_scale_j)
//     score   = m + log(((s0 + s1) + (s2 + s3))),   s_i = sum of exp(logit_j - m) over j = i, i + 4, ...
#pragma once
#include "cuda/exp_log.h"
#include "cuda/rows.h"
#include "sals/int4_pack.h"

namespace sals::cuda {

inline constexpr int STEP_TOKENS = 128;
inline constexpr int WIDE_BYTES = 16;
inline constexpr int WIDE_WORDS = WIDE_BYTES / 4;
inline constexpr int LOADS = 8;  // of 16 bytes, in flight per lane

// Eight int4 values of a word as two words of int8: those in the high nibbles times 16, which is their sign
// extension for free, and those in the low nibbles plus 8.
SALS_DEVICE uint32_t high_nibbles(uint32_t word) { return word & 0xF0F0F0F0U; }
SALS_DEVICE uint32_t low_nibbles(uint32_t word) { return (word & 0x0F0F0F0FU) ^ 0x08080808U; }

// A word of the query for both: int8 values, and what the plus 8 adds to a dot product.
struct QueryWord {
    uint32_t high, low;
    int32_t bias;
};

SALS_DEVICE QueryWord query_word(int32_t word) {
    QueryWord q = {0, 0, 0};
    for (int i = 0; i < 4; ++i) {
        const int32_t low = int4_get(word, 2 * i), high = int4_get(word, 2 * i + 1);
        q.low |= (static_cast<uint32_t>(low) & 0xFFU) << (8 * i);
        q.high |= (static_cast<uint32_t>(high) & 0xFFU) << (8 * i);
        q.bias -= 8 * low;
    }
    return q;
}

// Where a token's key and scale stand.
struct TokenPlace {
    const uint8_t* key;
    const float* scale;
};

// What a warp needs to score tokens of one row.
struct ScoreRow {
    const QsiArguments& a;
    PageDivider pages;
    int32_t request, head, visible;
    const int32_t* query;
    float query_scale;

    SALS_DEVICE int32_t clamped(int32_t token) const { return token < visible ? token : visible - 1; }
    SALS_DEVICE TokenPlace place(int32_t token) const {
        const int32_t page_index = pages.quotient(token);
        const int64_t page = page_of(a.requests, request, page_index);
        const int32_t offset = token - page_index * a.requests.page_size;
        return {a.keys.rows + page * a.keys.page + head * a.keys.head +
                    static_cast<int64_t>(offset) * a.keys.token,
                a.keys.scales + page * a.keys.scale_page + head * a.keys.scale_head +
                    static_cast<int64_t>(offset) * a.keys.scale_token};
    }
    SALS_DEVICE float logit(float key_scale, int32_t dot) const {
        return multiply(static_cast<float>(dot), multiply(query_scale, key_scale));
    }
};

// The tokens of a step. With ONE_PAGE a step lies in one page, as it does where pages are a multiple of 128
// tokens, and the table is read once for it.
template <bool ONE_PAGE>
class StepPlaces {
public:
    SALS_DEVICE StepPlaces(const ScoreRow& row, int32_t first)
        : row_(row), first_(first), last_(row.visible - 1 - first), origin_(row.place(first)) {}

    SALS_DEVICE bool is_visible(int32_t slot) const { return slot <= last_; }
    SALS_DEVICE TokenPlace operator[](int32_t slot) const {
        const int32_t offset = slot < last_ ? slot : last_;
        if (!ONE_PAGE) return row_.place(first_ + offset);
        return {origin_.key + offset * row_.a.keys.token, origin_.scale + offset * row_.a.keys.scale_token};
    }

private:
    const ScoreRow& row_;
    int32_t first_, last_;
    TokenPlace origin_;
};

// Rows of CHUNKS x 16 bytes. A load of a warp covers LANES / CHUNKS tokens; after CHUNKS loads, sums are
// exchanged so that every lane has one token of 32.
template <int CHUNKS, bool ONE_PAGE>
class WideDots {
public:
    static constexpr int LOAD_TOKENS = LANES / CHUNKS;
    static constexpr int GROUPS = LOADS / CHUNKS;  // of 32 tokens whose loads are in flight together

    SALS_DEVICE explicit WideDots(const ScoreRow& row) : row_(row), chunk_(lane_index() % CHUNKS) {
        bias_ = 0;
        for (int w = 0; w < WIDE_WORDS; ++w) {
            const QueryWord q = query_word(row.query[chunk_ * WIDE_WORDS + w]);
            high_[w] = q.high;
            low_[w] = q.low;
            bias_ += q.bias;
        }
        byte_ = chunk_ / 2 * row.a.keys.plane + chunk_ % 2 * WIDE_BYTES;
    }

    // Logits of the 128 tokens from `first` on, -inf beyond the visible ones.
    SALS_DEVICE void logits(int32_t first, float* to) const {
        const StepPlaces<ONE_PAGE> places(row_, first);
#pragma unroll 1
        for (int32_t begin = 0; begin < STEP_TOKENS; begin += GROUPS * LANES) {
            uint4 raw[GROUPS][CHUNKS];
            float scale[GROUPS];
            for_each_load([&](int g, int i) {
                const int32_t slot = begin + g * LANES + i * LOAD_TOKENS + lane_index() / CHUNKS;
                raw[g][i] = load_stream(reinterpret_cast<const uint4*>(places[slot].key + byte_));
            });
#pragma unroll
            for (int g = 0; g < GROUPS; ++g) scale[g] = *places[own_slot(begin, g)].scale;
#pragma unroll
            for (int g = 0; g < GROUPS; ++g) {
                const float logit = row_.logit(scale[g], dot(raw[g]));
                to[own_slot(begin, g)] = places.is_visible(own_slot(begin, g)) ? logit : -infinity();
            }
        }
    }

private:
    // The slot whose dot product this lane ends up with.
    SALS_DEVICE int32_t own_slot(int32_t begin, int g) const {
        return begin + g * LANES + chunk_ * LOAD_TOKENS + lane_index() / CHUNKS;
    }

    template <class F>
    SALS_DEVICE static void for_each_load(F&& f) {
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
            for (int i = 0; i < CHUNKS; ++i) f(g, i);
        }
    }

    SALS_DEVICE int32_t part(const uint4& raw) const {
        const uint32_t word[WIDE_WORDS] = {raw.x, raw.y, raw.z, raw.w};
        int32_t low = bias_, high = 0;
#pragma unroll
        for (int w = 0; w < WIDE_WORDS; ++w) {
            low = dot4(low_nibbles(word[w]), low_[w], low);
            high = dot4(high_nibbles(word[w]), high_[w], high);
        }
        return low + (high >> 4);
    }

    // Of CHUNKS partial sums each lane keeps the one that its chunk number names, summed over the lanes.
    SALS_DEVICE int32_t dot(const uint4 (&raw)[CHUNKS]) const {
        int32_t sums[CHUNKS];
#pragma unroll
        for (int i = 0; i < CHUNKS; ++i) sums[i] = part(raw[i]);
#pragma unroll
        for (int half = CHUNKS / 2; half > 0; half /= 2) {
            const bool keeps_high = (chunk_ & half) != 0;
#pragma unroll
            for (int i = 0; i < half; ++i) {
                const int32_t given = keeps_high ? sums[i] : sums[i + half];
                sums[i] = (keeps_high ? sums[i + half] : sums[i]) + shuffle_xor(given, half);
            }
        }
        return sums[0];
    }

    const ScoreRow& row_;
    int32_t chunk_;
    int64_t byte_;
    uint32_t high_[WIDE_WORDS], low_[WIDE_WORDS];
    int32_t bias_;
};

// Rows of any rank and place: a lane takes a token, word by word.
class NarrowDots {
public:
    SALS_DEVICE explicit NarrowDots(const ScoreRow& row) : row_(row) {}

    SALS_DEVICE void logits(int32_t first, float* to) const {
        const int32_t words = row_.a.tiling.rank / INT4_PER_WORD;
        for (int32_t slot = lane_index(); slot < STEP_TOKENS; slot += LANES) {
            const TokenPlace place = row_.place(row_.clamped(first + slot));
            int32_t low = 0, high = 0;
            for (int32_t w = 0; w < words; ++w) {
                const int32_t byte = w * 4;
                const uint8_t* from = place.key + byte / PLANE_BYTES * row_.a.keys.plane + byte % PLANE_BYTES;
                const uint32_t word = *reinterpret_cast<const uint32_t*>(from);
                const QueryWord q = query_word(row_.query[w]);
                low = dot4(low_nibbles(word), q.low, low + q.bias);
                high = dot4(high_nibbles(word), q.high, high);
            }
            const float logit = row_.logit(*place.scale, low + (high >> 4));
            to[slot] = first + slot < row_.visible ? logit : -infinity();
        }
    }

private:
    const ScoreRow& row_;
};

// Log-sum-exp of the blocks of a step, given its logits; `give(block, score)` is called once for each.
// BLOCK_SIZE 0: known at run time only.
template <int BLOCK_SIZE, class Give>
SALS_DEVICE void reduce_blocks_of(const float* logits, int32_t size, Give&& give) {
    const int32_t block_size = BLOCK_SIZE > 0 ? BLOCK_SIZE : size;
    const int32_t blocks = STEP_TOKENS / block_size;
    const int32_t part = lane_index() % 4;
    for (int32_t begin = 0; begin < blocks; begin += LANES / 4) {
        const int32_t block = begin + lane_index() / 4;
        const float* mine = logits + (block < blocks ? block : 0) * block_size + part;
        float m = mine[0];
#pragma unroll
        for (int32_t j = 4; j < block_size; j += 4) m = larger_float(m, mine[j]);
        m = larger_float(m, shuffle_xor(m, 1));
        m = larger_float(m, shuffle_xor(m, 2));
        float sum = 0.0F;
#pragma unroll
        for (int32_t j = 0; j < block_size; j += 4) sum = add(sum, exact_exp(subtract(mine[j], m)));
        sum = add(sum, shuffle_xor(sum, 1));
        sum = add(sum, shuffle_xor(sum, 2));
        if (part == 0 && block < blocks) give(block, m == -infinity() ? m : add(m, exact_log(sum)));
    }
}

template <class Give>
SALS_DEVICE void reduce_blocks(const float* logits, int32_t block_size, Give&& give) {
    constexpr int COMMON = DEFAULT_BLOCK_SIZE;
    if (block_size == COMMON) {
        reduce_blocks_of<COMMON>(logits, block_size, give);
    } else {
        reduce_blocks_of<0>(logits, block_size, give);
    }
}

}  // namespace sals::cuda
