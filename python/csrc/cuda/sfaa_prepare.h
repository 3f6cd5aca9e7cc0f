// SPDX-License-Identifier: Apache-2.0
// sfaa_prepare.h - what a thread block of the attention finds out before it attends: its part of the work,
// its query rows, and where the listed tokens stand.
#pragma once
#include "cuda/block_ops.h"
#include "cuda/floats.h"
#include "cuda/rows.h"
#include "cuda/sfaa_tile.h"

namespace sals::cuda {

inline constexpr float LOG2_E = 1.44269504F, LN_2 = 0.693147181F;
inline constexpr int MOST_ROWS = 2 * SLICE_ROWS;
inline constexpr int MERGE_SPLITS = 64;  // splits whose factors stand in shared memory together
inline constexpr int32_t NEVER_SEEN = INT32_MAX - (1 << 16);  // position behind all tokens
inline constexpr float LEAST_LOG_SCALE =
    -108.0F;  // smaller value scales count as 2^-108: sums of weights stay finite

// Eight tokens of a listed block.
struct HalfTile {
    int64_t at;        // byte of the first of them in the cache
    int32_t position;  // of that token in the request
    int32_t
        last;  // token of the eight, behind which nothing may be read; negative if that is before the first
};

struct SfaaMemory {
    HalfTile halves[BATCH_HALVES + 1];
    int64_t scale_at[BATCH_HALVES + 1];
    int32_t visible[MOST_ROWS];
    float factor[MOST_ROWS];  // from a row's products to logits in units of log 2, per-token scales apart
    float maximum[SFAA_WARPS][MOST_ROWS], sum[SFAA_WARPS][MOST_ROWS];
    float merged_maximum[MOST_ROWS], merged_sum[MOST_ROWS];
    int32_t warp_entries[SFAA_WARPS];
    int32_t request;
    int32_t is_last;
};

// The part of the work that a thread block has.
struct SfaaUnit {
    int32_t split, pass, row;
    int32_t list_token, kv_head, list_row;
    int32_t first_token;            // of the list
    int32_t pass_begin, pass_rows;  // query rows of the list row
    int32_t begin, end;             // list entries
    int32_t splits;                 // that have work
};

SALS_DEVICE SfaaUnit sfaa_unit(const SfaaArguments& a) {
    const SfaaTiling& t = a.tiling;
    const int32_t passes = sfaa_passes(t), splits = sfaa_splits(t), entries = sfaa_split_entries(t);
    SfaaUnit u{};
    u.pass = block_index() % passes;
    u.split = block_index() / passes % splits;
    u.row = block_index() / passes / splits;
    u.list_token = u.row / t.n_kv;
    u.kv_head = u.row % t.n_kv;
    u.list_row = u.list_token * t.list_heads + (t.list_heads == 1 ? 0 : u.kv_head);
    u.first_token = u.list_token * (t.is_shared ? t.s_q : 1);
    const int32_t pass_size = sfaa_pass_slices(t) * SLICE_ROWS;
    u.pass_begin = u.pass * pass_size;
    u.pass_rows = smaller(sfaa_query_rows(t) - u.pass_begin, pass_size);
    // selected_lens only says how many splits are worth a thread block; the last of them takes all that
    // follows.
    const int32_t tokens = larger(smaller(a.selected_lens[u.list_row], t.width * t.block_size), 0);
    u.splits = smaller(larger(ceil_div(tokens, entries * t.block_size), 1), splits);
    u.begin = u.split * entries;
    u.end = u.split + 1 == u.splits ? t.width : smaller(u.begin + entries, t.width);
    return u;
}

// What the query rows of the pass see, and the request of the list.
SALS_DEVICE void read_rows(const SfaaArguments& a, const SfaaUnit& u, SfaaMemory& m) {
    const int32_t r = thread_index();
    if (r >= MOST_ROWS) return;
    m.visible[r] = 0;
    if (r < u.pass_rows) {
        const TokenRow token = token_row(a.requests, u.first_token + (u.pass_begin + r) / a.tiling.group);
        const bool is_real = token.s < token.q_len;
        const int64_t seen =
            a.tiling.is_causal ? visible_tokens(token.seq_len, token.q_len, token.s) : int64_t{token.seq_len};
        m.visible[r] = is_real ? clamp_visible(a.requests, seen) : 0;
    }
    if (r == 0) m.request = token_row(a.requests, u.first_token).request;
}

// COUNT elements that lie LANES apart. All loads are under way before the first is used.
template <int COUNT>
SALS_DEVICE void load_floats(const void* from, FloatType type, int64_t first, int32_t count,
                             float (&to)[COUNT]) {
    uint32_t bits[COUNT];
    if (type == FloatType::FLOAT32) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            bits[i] = i * LANES < count ? static_cast<const uint32_t*>(from)[first + i * LANES] : 0;
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            bits[i] = i * LANES < count ? static_cast<const uint16_t*>(from)[first + i * LANES] : 0;
        }
    }
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        to[i] = type == FloatType::FLOAT32   ? float_of_bits(bits[i])
                : type == FloatType::FLOAT16 ? half_to_float(bits[i])
                                             : float_of_bits(bits[i] << 16);
    }
}

// Query rows in two terms of 8 bits relative to their largest channel, static key scales included. Warps take
// rows in turn. A row with a channel that is not finite gets a factor that is NaN.
template <int HEAD_DIM>
SALS_DEVICE void load_query(const SfaaArguments& a, const SfaaUnit& u, int32_t rows, SfaaMemory& m,
                            int8_t* to) {
    constexpr int MINE = HEAD_DIM / LANES;
    const SfaaTiling& t = a.tiling;
#pragma unroll 1
    for (int32_t r = warp_index(); r < rows; r += SFAA_WARPS) {
        const int32_t query_row = u.pass_begin + r;
        const int64_t head = static_cast<int64_t>(u.first_token + query_row / t.group) * t.n_kv * t.group +
                             u.kv_head * t.group + query_row % t.group;
        const int32_t count =
            r < u.pass_rows ? t.head_dim - lane_index() : 0;  // channels from this lane's first on
        float x[MINE], scale[MINE];
        load_floats(a.query, a.type, head * t.head_dim + lane_index(), count, x);
        if (a.key_scale != nullptr) {
            load_floats(a.key_scale, FloatType::FLOAT32, u.kv_head * t.head_dim + lane_index(), count, scale);
        }
        float largest = 0.0F;
#pragma unroll
        for (int i = 0; i < MINE; ++i) {
            if (a.key_scale != nullptr) x[i] *= scale[i];
            largest = larger_magnitude(largest, x[i]);
        }
        for (int mask = LANES / 2; mask > 0; mask /= 2) {
            largest = larger_magnitude(largest, shuffle_xor(largest, mask));
        }
        const bool is_finite = largest < infinity();
        const float up = largest > 0.0F && is_finite ? FIRST_TERM / largest : 0.0F;
        if (lane_index() == 0) {
            m.factor[r] = is_finite ? largest / FIRST_TERM * t.scale * LOG2_E : float_of_bits(0x7FC00000U);
        }
#pragma unroll
        for (int i = 0; i < MINE; ++i) {
            const float scaled = is_finite ? x[i] * up : 0.0F;
            const float first = nearest_whole(scaled), second = nearest_whole((scaled - first) * SECOND_TERM);
            int8_t* place = to + query_byte<HEAD_DIM>(r, i * LANES + lane_index());
            place[0] = static_cast<int8_t>(first);
            place[8] = static_cast<int8_t>(second);
        }
    }
}

// The list entry of this thread in the batch that begins at `begin`.
SALS_DEVICE int32_t listed_id(const SfaaArguments& a, const SfaaUnit& u, int32_t begin, int32_t most) {
    const int32_t i = begin + thread_index();
    if (thread_index() >= most || i >= u.end) return INVALID_BLOCK;
    return a.block_ids[static_cast<int64_t>(u.list_row) * a.tiling.width + i];
}

// Translates the list entries of a batch, one by each thread, into halves of tiles, and returns how many
// halves there are. They keep their order.
SALS_DEVICE int32_t read_entries(const SfaaArguments& a, const SfaaUnit& u, int32_t id, int32_t most_visible,
                                 SfaaMemory& m) {
    const int64_t position = static_cast<int64_t>(id) * a.tiling.block_size;
    const bool is_there = id >= 0 && position < most_visible;
    const uint32_t warp_there = ballot(is_there);
    if (lane_index() == 0) m.warp_entries[warp_index()] = bit_count(warp_there);
    sync_block();
    const int32_t block_halves = a.tiling.block_size / HALF_TOKENS;
    int32_t place = bit_count(warp_there & ((1U << lane_index()) - 1)), count = 0;
    for (int w = 0; w < SFAA_WARPS; ++w) {
        if (w < warp_index()) place += m.warp_entries[w];
        count += m.warp_entries[w];
    }
    if (is_there) {
        const auto first = static_cast<int32_t>(position);
        const int32_t page_index = PageDivider(a.requests.page_size).quotient(first);
        const int64_t page = page_of(a.requests, m.request, page_index);
        const int64_t offset = first - page_index * a.requests.page_size;
        HalfTile half = {page * a.keys.page + u.kv_head * a.keys.head + offset * a.keys.token, first,
                         most_visible - first - 1};
        int64_t scale_at =
            page * a.keys.scale_page + u.kv_head * a.keys.scale_head + offset * a.keys.scale_token;
        for (int32_t h = place * block_halves; h < (place + 1) * block_halves; ++h) {
            m.halves[h] = half;
            m.scale_at[h] = scale_at;
            half.at += int64_t{HALF_TOKENS} * a.keys.token;
            half.position += HALF_TOKENS;
            half.last -= HALF_TOKENS;
            scale_at += int64_t{HALF_TOKENS} * a.keys.scale_token;
        }
        // Half a tile may be missing behind the last block of 8: any tokens will do, since no row sees them.
        if (place + 1 == count) {
            m.halves[count * block_halves] = m.halves[place * block_halves];
            m.halves[count * block_halves].position = NEVER_SEEN;
            m.scale_at[count * block_halves] = m.scale_at[place * block_halves];
        }
    }
    sync_block();
    return count * block_halves;
}

}  // namespace sals::cuda
